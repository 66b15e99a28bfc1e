"""European options by Black and Scholes: prices over strikes and maturities on a volatility smile, and the closed-form greeks.

The normal distribution function is Hart's rational approximation as in West (2005), "Better approximations to cumulative normal functions".
"""

import numpy as np

UPPER = [0.0352624965998911, 0.700383064443688, 6.37396220353165, 33.912866078383, 112.079291497871, 221.213596169931, 220.206867912376]
LOWER = [0.0883883476483184, 1.75566716318264, 16.064177579207, 86.7807322029461, 296.564248779674, 637.333633378831, 793.826512519948,
         440.413735824752]  # fmt: skip


def make_data():
    strikes = np.array([70.0, 85.0, 95.0, 100.0, 110.0, 130.0])
    maturities = np.array([0.1, 0.5, 1.0, 2.0])
    is_call = strikes >= 100.0
    market = np.outer(maturities**0.5, 8 * np.exp(-(((strikes - 100) / 25) ** 2)))
    return strikes, maturities[:, np.newaxis], is_call, market


def start():
    return {"spot": 98.0, "rate": 0.03, "smile": np.array([0.4, -0.1, 0.22])}


def normal_pdf(x):
    return np.exp(-0.5 * x**2) / np.sqrt(2 * np.pi)


def normal_cdf(x):
    a = np.abs(x)
    near = np.polyval(UPPER, a) / np.polyval(LOWER, a)
    far = 1 / (a + 1 / (a + 2 / (a + 3 / (a + 4 / (a + 0.65))))) / 2.506628274631
    tail = np.exp(-0.5 * a**2) * np.where(a < 7.07106781186547, near, far)
    return np.where(x > 0, 1 - tail, tail)


def d1_d2(spot, strike, maturity, rate, volatility):
    spread = volatility * np.sqrt(maturity)
    d1 = (np.log(spot / strike) + (rate + 0.5 * volatility**2) * maturity) / spread
    return d1, d1 - spread


def price(spot, strike, maturity, rate, volatility, is_call):
    d1, d2 = d1_d2(spot, strike, maturity, rate, volatility)
    discounted = strike * np.exp(-rate * maturity)
    call = spot * normal_cdf(d1) - discounted * normal_cdf(d2)
    return np.where(is_call, call, call - spot + discounted)


def greeks(spot, strike, maturity, rate, volatility, is_call):
    """Delta, gamma, vega, theta and rho, as everyone has them in a table."""
    d1, d2 = d1_d2(spot, strike, maturity, rate, volatility)
    discounted = strike * np.exp(-rate * maturity)
    decay = -spot * normal_pdf(d1) * volatility / (2 * np.sqrt(maturity))
    exercise = np.where(is_call, normal_cdf(d2), -normal_cdf(-d2))
    return {
        "delta": np.where(is_call, normal_cdf(d1), normal_cdf(d1) - 1),
        "gamma": normal_pdf(d1) / (spot * volatility * np.sqrt(maturity)),
        "vega": spot * normal_pdf(d1) * np.sqrt(maturity),
        "theta": decay - rate * discounted * exercise,
        "rho": discounted * maturity * exercise,
    }


def objective(params, data):
    """How far the prices on the smile are from the market's, relative to it, the worst third left out."""
    strikes, maturities, is_call, market = data
    moneyness = np.log(strikes / params["spot"]) / np.sqrt(maturities)
    volatility = np.maximum(np.polyval(params["smile"], moneyness), 0.05)
    prices = price(params["spot"], strikes, maturities, params["rate"], volatility, is_call)
    errors = np.sort(((prices - market) / (1 + market)).ravel() ** 2)
    return np.mean(errors[: 2 * errors.size // 3])
