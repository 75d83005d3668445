"""Black-Scholes: the fair prices of European call and put options.

relift run examples/black_scholes.py --size n=1048576 --random 0 --check
"""

import numpy as np

import relift as rl

n = rl.nat("n")
option = rl.tup(rl.f32, rl.f32, rl.f32)  # price, strike, years
RATE, VOLATILITY = 0.02, 0.3
POLYNOMIAL = (0.31938153, -0.356563782, 1.781477937, -1.821255978, 1.330274429)


def cumulative(d, exp, absolute, select):
    """The distribution function of the normal distribution, to seven digits (Abramowitz, Stegun 26.2.17)."""
    t = 1.0 / (1.0 + 0.2316419 * absolute(d))
    series = 0.0
    for coefficient in reversed(POLYNOMIAL):
        series = (series + coefficient) * t
    tail = 0.3989422804 * exp(-0.5 * d * d) * series
    return select(d > 0, 1.0 - tail, tail)


def prices(option, log, sqrt, exp, absolute, select):
    """Call and put of one option, or of arrays of them."""
    price, strike, years = option
    spread = VOLATILITY * sqrt(years)
    d1 = (log(price / strike) + (RATE + 0.5 * VOLATILITY * VOLATILITY) * years) / spread
    above, at = (cumulative(d, exp, absolute, select) for d in (d1, d1 - spread))
    discounted = strike * exp(-RATE * years)
    return price * above - discounted * at, discounted * (1.0 - at) - price * (1.0 - above)


@rl.program
def black_scholes(options: option[n]):
    """Call and put of every option."""
    return rl.map(lambda o: prices(o, rl.log, rl.sqrt, rl.exp, rl.absolute, rl.select), options)


@black_scholes.gold
def with_numpy(options):
    doubles = tuple(a.astype(np.float64) for a in options)
    return prices(doubles, np.log, np.sqrt, np.exp, np.abs, np.where)
