"""Deblurring in the Fourier domain: an image and the width of the blur from a blurred image, with a total-variation penalty."""

import numpy as np

SHAPE = (8, 10)


def make_data():
    rng = np.random.default_rng(5)
    image = np.zeros(SHAPE)
    image[2:6, 3:7] = 1.0
    image[4, 1:9] += 0.5
    blurred = blur(image, 1.1, 0.8)
    return blurred + 0.02 * rng.normal(size=SHAPE)


def start():
    rng = np.random.default_rng(50)
    return {"image": rng.uniform(0.0, 1.0, SHAPE), "log_width": np.array([0.2, -0.1]), "log_smooth": -3.0}


def frequencies():
    """In radians a pixel, for the half-plane that rfft2 keeps."""
    rows = 2 * np.pi * np.fft.fftfreq(SHAPE[0])
    columns = 2 * np.pi * np.fft.rfftfreq(SHAPE[1])
    return np.meshgrid(rows, columns, indexing="ij")


def blur(image, row_width, column_width):
    """By a Gaussian, around the edges."""
    u, v = frequencies()
    transfer = np.exp(-0.5 * ((row_width * u) ** 2 + (column_width * v) ** 2))
    return np.fft.irfft2(np.fft.rfft2(image) * transfer, s=image.shape)


def total_variation(image, softness=0.1):
    down = np.diff(image, axis=0, append=image[:1])
    right = np.roll(image, -1, axis=1) - image
    return np.sum(np.sqrt(down**2 + right**2 + softness**2))


def flatness(image):
    """The share of the power that is not at frequency 0, by the full transform."""
    power = np.abs(np.fft.fft2(image)) ** 2
    centered = np.fft.fftshift(power)
    middle = centered[SHAPE[0] // 2, SHAPE[1] // 2]
    return 1 - middle / centered.sum()


def sharpened(image):
    """With the high frequencies raised by a fifth, as an image again."""
    spectrum = np.fft.fft2(image)
    u = np.fft.fftfreq(SHAPE[0])[:, np.newaxis]
    v = np.fft.fftfreq(SHAPE[1])
    return np.fft.ifft2(np.where(np.hypot(u, v) > 0.25, 1.2, 1.0) * spectrum).real


def objective(params, blurred):
    image = params["image"]
    row_width, column_width = np.exp(params["log_width"])
    residual = blur(image, row_width, column_width) - blurred
    misfit = 0.5 * np.linalg.norm(residual) ** 2
    smooth = np.exp(params["log_smooth"])
    overshoot = np.minimum(sharpened(image), 0.0)
    return misfit + smooth * total_variation(image) + 0.1 * flatness(image) + 0.5 * np.sum(overshoot**2)
