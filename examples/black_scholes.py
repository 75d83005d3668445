"""Black-Scholes: the fair prices of European call and put options.

relift run examples/black_scholes.py --size n=1048576 --random 0 --check
"""

import numpy as np

import relift as rl

n = rl.nat("n")
option = rl.tup(rl.f32, rl.f32, rl.f32)  # price, strike, years
RATE, VOLATILITY = 0.02, 0.3
POLYNOMIAL = (0.31938153, -0.356563782, 1.781477937, -1.821255978, 1.330274429)


@rl.userfun
def tail(t: rl.f32, d: rl.f32) -> rl.f32:
    """What the normal distribution has beyond |d|, to seven digits (Abramowitz and Stegun, 26.2.17)."""
    series = 0.0
    for coefficient in reversed(POLYNOMIAL):
        series = (series + coefficient) * t
    return 0.3989422804 * rl.exp(-0.5 * d * d) * series


@rl.userfun
def cumulative(d: rl.f32) -> rl.f32:
    """The distribution function of the normal distribution."""
    beyond = tail(1.0 / (1.0 + 0.2316419 * rl.absolute(d)), d)
    return rl.select(d > 0.0, 1.0 - beyond, beyond)


@rl.userfun
def moneyness(price: rl.f32, strike: rl.f32, years: rl.f32) -> rl.f32:
    """How far the price is above the strike, in standard deviations."""
    drift = (RATE + 0.5 * VOLATILITY * VOLATILITY) * years
    return (rl.log(price / strike) + drift) / (VOLATILITY * rl.sqrt(years))


def prices(o):
    """Call and put of one option."""
    price, strike, years = o
    d = moneyness(price, strike, years)
    above, at = cumulative(d), cumulative(d - VOLATILITY * rl.sqrt(years))
    discounted = strike * rl.exp(-RATE * years)
    call = price * above - discounted * at
    return (call, discounted * (1.0 - at) - price * (1.0 - above))


@rl.program
def black_scholes(options: option[n]):
    """Call and put of every option."""
    return rl.map(prices, options)


@black_scholes.gold
def with_numpy(options):
    price, strike, years = (a.astype(np.float64) for a in options)
    spread = VOLATILITY * np.sqrt(years)
    d = np.log(price / strike) / spread + (RATE / VOLATILITY + VOLATILITY / 2) * np.sqrt(years)

    def cumulative(d):
        t = 1 / (1 + 0.2316419 * np.abs(d))
        beyond = np.exp(-d * d / 2) / np.sqrt(2 * np.pi) * t * np.polyval(POLYNOMIAL[::-1], t)
        return np.where(d > 0, 1 - beyond, beyond)

    discounted = strike * np.exp(-RATE * years)
    call = price * cumulative(d) - discounted * cumulative(d - spread)
    return call, call - price + discounted
