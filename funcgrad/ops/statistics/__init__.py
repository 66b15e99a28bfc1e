"""Statistics: averages, order statistics, histograms, sorting, missing values."""
