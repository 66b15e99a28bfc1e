"""Special functions at special points, with values from mpmath at 50 digits or closed forms; and the namespace."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("scipy")

import scipy.special

from funcgrad import grad, jvp, vjp
from funcgrad.errors import NoRuleError
from funcgrad.primitive import OPERATIONS
from funcgrad.scipy import special
from tests.cases.scipy_special import BINARY, IN_ORDER, UNARY, Maker

INF = math.inf


def forward(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: jvp(f, (x,), (1.0,))[1]


def derivatives(f: Callable[[Any], Any], order: int) -> list[Callable[[Any], Any]]:
    """The derivative of that order by reverse mode alone, by forward mode alone, and by forward over reverse."""
    reverses, forwards, mixed = f, f, f
    for n in range(order):
        reverses, forwards = grad(reverses), forward(forwards)
        mixed = forward(mixed) if n else grad(mixed)
    return [reverses, forwards, mixed]


# ------------------------------------------------------------------------------------------------ by mpmath

# The function, x, and the first three derivatives.
OF_ONE = [
    ("gamma", 0.3, -10.478042841758518, 73.332451673574947, -738.64658299756456),
    ("gamma", 5.5, 84.329090666431266, 146.29615446405726, 267.24421423473495),
    ("gamma", -2.5, -1.0428235924606154, -10.167930811390321, -31.010037073988958),
    ("gamma", 30.0, 2.992439645174224e+31, 1.0157696050532243e+32, 3.4579935987578819e+32),
    ("gammaln", 1e-05, -100000.57719921567, 10000000001.644908, -2000000000000001.9),
    ("gammaln", 2.5, 0.70315664064524319, 0.49035775610023486, -0.2362040516417274),
    ("gammaln", -1.3, 2.8825405488661673, 14.53687624413708, 68.549413471162134),
    ("gammaln", 100000.0, 11.512920464961895, 1.0000050000166667e-5, -1.00001000005e-10),
    ("loggamma", 0.1, -10.423754940411076, 101.43329915079275, -2001.8614573783437),
    ("loggamma", 3.0, 0.92278433509846714, 0.39493406684822644, -0.15411380631918857),
    ("rgamma", 0.0, 1.0, 1.1544313298030657, -3.9352684291215233), ("rgamma", -1.0, -1.0, 0.84556867019693428, 7.3985624185307205),
    ("rgamma", -3.0, -6.0, 15.073412021181606, 25.707844458230309),
    ("rgamma", -2.5, 1.1669802856379655, 8.8037821833884177, -32.090640575293646),
    ("rgamma", 0.4, 1.1547341361415263, -0.32218863936153587, -3.093274872224726),
    ("rgamma", 6.0, -0.014217647236931671, 0.022745954523317064, -0.033378055487612025),
    ("erf", 0.0, 1.1283791670955126, 0.0, -2.2567583341910251),
    ("erf", 0.7, 0.69127486041053862, -0.967784804574754, -0.027650994416421717),
    ("erf", -2.0, 0.020666985354092054, 0.082667941416368215, 0.28933779495728875),
    ("erf", 6.0, 2.6173012392492648e-16, -3.1407614870991178e-15, 3.7165677597339561e-14),
    ("erfc", 0.5, -0.87878257893544479, 0.87878257893544479, 0.87878257893544479),
    ("erfc", 12.0, -3.266251823898804e-63, 7.8390043773571296e-62, -1.8748285469179135e-60),
    ("erfcx", -2.0, -436.8919967270074, 1965.4497956879856, -9609.3671696599718),
    ("erfcx", 0.5, -0.5126888229025867, 0.71869186548326505, -1.3320634261270817),
    ("erfcx", 6.5, -0.012905455731882751, 0.0038404156953134434, -0.0016964188884562393),
    ("erfcx", 40.0, -0.00035228842528748392, 1.7597943756913901e-5, -1.3182005968235873e-6),
    ("erfcx", 1000.0, -5.6418873726549667e-7, 1.1283757819707055e-9, -3.3851205756878906e-12), ("dawsn", 0.0, 1.0, 0.0, -4.0),
    ("dawsn", 1.5, -0.28474721325619588, -0.0022565024022096217, 1.1457583602314124),
    ("dawsn", -8.0, -0.0080031793208542067, -0.0020504717185605315, -0.00079483021355167698),
    ("dawsn", 50.0, -0.00020012012016830307, 8.0096144269406402e-6, -4.8096202085174726e-7),
    ("erfinv", 0.0, 0.88622692545275801, 0.0, 1.392081999207927),
    ("erfinv", 0.5, 1.1125848189719498, 1.1807463499934, 5.2605825392612202),
    ("erfinv", -0.999, 198.93951776442476, -184171.54985278227, 356746549.89589375),
    ("ndtr", 0.0, 0.39894228040143268, 0.0, -0.39894228040143268),
    ("ndtr", -3.0, 0.0044318484119380072, 0.013295545235814022, 0.035454787295504057),
    ("ndtr", 8.0, 5.0522710835368923e-15, -4.0418168668295138e-14, 3.1829307826282421e-13),
    ("log_ndtr", 0.0, 0.79788456080286536, -0.63661977236758134, 0.21801361414499016),
    ("log_ndtr", 2.0, 0.055247862678989959, -0.11354805168857645, 0.18439481503247759),
    ("log_ndtr", -5.0, 5.1865039671258421, -0.96730356538288777, 0.0108257645063567),
    ("log_ndtr", -40.0, 40.024968847207264, -0.99937733162140861, 3.1017440396486248e-5),
    ("log_ndtr", 9.0, 1.0279773571668915e-18, -9.2517962145020233e-18, 8.2238188573351318e-17),
    ("ndtri", 0.5, 2.5066282746310005, 0.0, 15.74960994572242),
    ("ndtri", 0.01, 37.520436157295173, -3274.993290268564, 624540.05981937764),
    ("ndtri", 0.9, 5.698059856117005, 41.609270291997791, 792.69549493590623), ("expit", 0.0, 0.25, 0.0, -0.125),
    ("expit", -30.0, 9.3576229688384233e-14, 9.357622968836672e-14, 9.3576229688331694e-14),
    ("expit", 40.0, 4.248354255291589e-18, -4.2483542552915889e-18, 4.2483542552915889e-18),
    ("log_expit", 0.5, 0.37754066879814544, -0.23500371220159449, 0.057556794852320741),
    ("log_expit", 50.0, 1.9287498479639178e-22, -1.9287498479639178e-22, 1.9287498479639178e-22),
    ("log_expit", -50.0, 1.0, -1.9287498479639178e-22, -1.9287498479639178e-22),
    ("logit", 0.3, 4.761904761904762, -9.0702947845804998, 79.904977864161546),
    ("logit", 0.999, 1001.0010010010001, 999998.99799699422, 2000000002.0060067),
    ("exprel", 0.001, 0.50033345836667361, 0.33358343336111706, 0.25020008335714807),
    ("exprel", 2.0, 2.0972640247326626, 1.5972640247326626, 1.2986320123663313),
    ("exprel", -30.0, 0.0011111111111078879, 7.4074074070739988e-5, 7.4074074039547911e-6),
    ("entr", 0.3, 0.20397280432593603, -3.3333333333333335, 11.111111111111112),
    ("entr", 1e-08, 17.420680743952365, -99999999.999999998, 9999999999999999.6),
    ("j0", 0.5, -0.24226845767487389, -0.45393289189106513, 0.1810604107575086),
    ("j0", 20.0, -0.066833124175850046, -0.16368300813179065, 0.074850191771999953),
    ("j1", 0.5, 0.45393289189106513, -0.1810604107575086, -0.33664425804550905),
    ("j1", 20.0, 0.16368300813179065, -0.074850191771999953, -0.15913879178357566),
    ("y0", 0.5, 1.4714723926702431, -2.4984260518337796, 9.4112692816782884),
    ("y0", 20.0, 0.1655116143625213, -0.070916177527509896, -0.1615520264502395),
    ("y1", 0.5, 2.4984260518337796, -9.4112692816782884, 59.855079208916923),
    ("y1", 20.0, 0.070916177527509896, 0.1615520264502395, -0.078597820058793691),
    ("i0", 0.5, 0.25789430539089632, 0.54769475995953089, 0.19408200703541981),
    ("i0", 20.0, 42454973.38512777, 41435533.890297145, 40489334.124075732),
    ("i1", 0.5, 0.54769475995953089, 0.19408200703541981, 0.4147799393105973),
    ("i1", 20.0, 41435533.890297145, 40489334.124075732, 39607631.110198562),
    ("k0", 0.5, -1.6564411200033009, 4.2373013112342676, -16.75680822248504),
    ("k0", 20.0, -5.8830579695570382e-10, 6.0353907138143762e-10, -6.1995351501716496e-10),
    ("k1", 0.5, -4.2373013112342676, 16.75680822248504, -98.152386166131303),
    ("k1", 20.0, -6.0353907138143762e-10, 6.1995351501716496e-10, -6.3770151893844198e-10),
    ("i0e", 2.0, -0.09323903330473338, 0.078843421984997931, -0.096671715997893723),
    ("i0e", 50.0, -0.00056850275455879289, 1.7143031259677779e-5, -8.6161849621509649e-7),
    ("i0e", 1000.0, -6.3101989626271155e-6, 9.4676683256014869e-9, -2.3675099972830331e-11),
    ("i1e", 2.0, -0.014395611319735449, -0.017828294012895792, 0.044570735032239479),
    ("i1e", 1000.0, -6.300731294301514e-6, 9.4439932256286566e-9, -2.3592216355258613e-11),
    ("k0e", 2.0, -0.19190863199791716, 0.13292115953850998, -0.15494178845836576),
    ("k0e", 50.0, -0.0017594027013862365, 5.2525768403838514e-5, -2.6136560116507013e-6),
    ("k0e", 1000.0, -1.9809212205993365e-5, 2.970640097347964e-8, -7.4247472967775273e-11),
    ("k1e", 2.0, -0.32482979153642713, 0.28786294799687573, -0.40977379307545782),
    ("k1e", 1000.0, -1.9838918606966845e-5, 2.9780648446447415e-8, -7.4507274318526253e-11),
    ("expi", 0.7, 2.8767895821006808, -1.232909820900292, 6.3993890703872297),
    ("expi", -2.0, -0.067667641618306346, -0.10150146242745952, -0.16916910404576586),
    ("exp1", 0.7, -0.70940757684487081, 1.7228469723375435, -5.631827497809281),
    ("exp1", 20.0, -1.0305768112192789e-10, 1.0821056517802429e-10, -1.1387873763973032e-10),
    ("spence", 0.3, -1.7199611490370514, 2.3048174061375457, -9.2878232840514578),
    ("spence", 0.999, -1.0005003335835335, 0.50066741746750086, -0.66816907000429097),
    ("spence", 1.7, -0.75804035866024343, 0.24257866363228053, -0.1987665228841233),
    ("ellipk", 0.3, 0.58485821592264646, 0.92632893178875795, 2.7374659066426102),
    ("ellipk", -4.0, 0.060302024208760699, 0.014517749519077169, 0.0062819968436838738),
    ("ellipk", 0.999, 499.16399313007707, 499875.82410806211, 999875139.04327703),
    ("ellipe", 0.3, -0.447543972943543, -0.22885707163183912, -0.39959619482206768),
    ("ellipe", -4.0, -0.20321633395080231, -0.017864288717755201, -0.0048843895792735544),
    ("ellipe", 0.999, -1.9214022871450708, -248.87016558705305, -249814.42122687735),
    ("ellipkm1", 0.7, -0.58485821592264651, 0.9263289317887581, -2.7374659066426109),
    ("ellipkm1", 1e-09, -499999997.43801815, 4.9999999987499994e+17, -9.9999999987499981e+26),
    ("wrightomega", 0.5, 0.43382828703782249, 0.13906383465421963, -0.02373711191216074),
    ("wrightomega", -5.0, 0.0066485020700668702, 0.0065603907914586442, 0.0063867936630207598),
    ("wrightomega", 30.0, 0.96391817309654573, 0.0012549233660129725, -8.5658507802036349e-5),
    ("cosm1", 1e-08, -1.0e-8, -0.99999999999999995, 1.0e-8), ("cosm1", 2.0, -0.9092974268256817, 0.41614683654714239, 0.9092974268256817),
    ("psi", 0.3, 12.245364546107731, -75.272536588726039, 743.14176465504978),
    ("psi", -0.5, 8.9348022005446793, -0.82879664423432, 193.40909103400244),
    ("psi", -3.2, 28.298186402194035, 246.9761555554605, 3768.5777610937342),
    ("psi", 10000.0, 0.00010000500016666667, -1.000100005e-8, 2.0003000199999999e-12),
]  # fmt: skip


@pytest.mark.parametrize(("name", "x", "first", "second", "third"), OF_ONE)
def test_three_orders(name: str, x: float, first: float, second: float, third: float):
    for order, wanted in enumerate((first, second, third), 1):
        for derivative in derivatives(getattr(special, name), order):
            got = derivative(x)
            assert type(got) is float
            assert got == pytest.approx(wanted, rel=1e-14 * 20**order, abs=1e-15)


# The function, its arguments, and the first three derivatives in the last of them.
IN_THE_LAST = [
    ("gammainc", (2.5, 1.3), 0.30387572096683028, 0.046750110917973878, -0.26251985361631491),
    ("betainc", (2.0, 3.5, 0.3), 1.9370771264330184, -0.4612088396269088, -31.296314117540265),
    ("zeta", (2.5, 1.5), -0.76774041114283522, 1.6028437963901688, -4.5448397596345348),
    ("jv", (2.5, 3.0), 0.13379318824566178, -0.17070357259041159, -0.16018361065175815),
    ("yv", (2.5, 3.0), 0.3945420324490002, -0.018751565516006263, 0.10038620537812145),
    ("iv", (2.5, 3.0), 1.8367005844906649, 1.9554249787142193, 1.9629105778506435),
    ("kv", (2.5, 3.0), -0.11808517348745061, 0.1817977953408491, -0.31272556537990098),
    ("expn", (3, 0.7), -0.23494711352795313, 0.37376884323350918, -0.70940757684487081),
    ("expn", (0, 0.7), -1.7228469723375435, 5.631827497809281, -24.845811138884648),
    ("struve", (1.0, 2.0), 0.46747698536631483, -0.082191516528247662, -0.35433366648992412),
    ("modstruve", (1.0, 2.0), 1.3860538643075878, 1.3220425744234322, 1.1423695624077366),
    ("hyp2f1", (0.7, 1.2, 1.9, -0.6), 0.23859483420857776, 0.19907613389922801, 0.2815207729493862),
    ("hyp1f1", (0.7, 1.9, -0.6), 0.2621286447362943, 0.14370810543324311, 0.095599454941084313),
    ("hyp0f1", (1.3, -0.6), 0.58597956835310637, 0.27772553202900715, 0.087981925522683478),
    ("eval_legendre", (5, 0.3), -0.16856249999999987, -11.4975, -9.9750000000000031),
    ("eval_hermite", (5, 0.3), 78.096000000000003, -270.71999999999999, -787.20000000000001),
    ("eval_chebyt", (5, 0.3), 0.2480000000000003, -27.36, -33.600000000000006),
    ("stdtr", (3.0, 1.7), 0.095352353202335761, -0.11008421082782397, 0.12588277379192894),
    ("fdtr", (3.0, 4.0, 1.7), 0.17881861220133675, -0.15373545845363793, 0.16925388478752504),
    ("chdtr", (3.0, 1.7), 0.22232290927060978, -0.045772363673360836, -0.02904044922133398),
]  # fmt: skip


@pytest.mark.parametrize(("name", "args", "first", "second", "third"), IN_THE_LAST)
def test_three_orders_in_the_last_argument(name: str, args: tuple[float, ...], first: float, second: float, third: float):
    def f(x: Any) -> Any:
        return getattr(special, name)(*args[:-1], x)

    for order, wanted in enumerate((first, second, third), 1):
        for derivative in derivatives(f, order):
            got = derivative(args[-1])
            assert type(got) is float
            assert got == pytest.approx(wanted, rel=1e-13)


# The function, its arguments, and the derivative in each.
OF_MORE = [
    ("beta", (2.5, 0.3), (-0.32590443840167494, -10.302224300881315)),
    ("betaln", (250.0, 0.001), (-4.0080026345899958e-6, -1006.095035524344)),
    ("poch", (2.3, 1.6), (2.8492073448716782, 5.5746523886027836)), ("binom", (7.0, 2.5), (11.721089267833576, 14.716583210540321)),
    ("xlogy", (2.0, 0.3), (-1.203972804325936, 6.6666666666666669)),
    ("rel_entr", (0.3, 0.30001), (0.99996666722220984, -0.99996666777774071)),
    ("pseudo_huber", (2.0, 0.001), (3.1249992187501834e-14, 0.00099999987500002346)),
    ("owens_t", (0.7, 1.4), (-0.10506000313347509, 0.026036227777637048)),
    ("powm1", (1.3, 0.2), (0.1621344541633513, 0.27649886427413777)),
    ("boxcox", (2.5, 1e-06), (0.40000036651646067, 0.41979460909510857)),
    ("boxcox1p", (0.001, 0.7), (0.99970019485062323, 4.997335027973563e-7)),
    ("inv_boxcox", (1.2, -1e-05), (3.3201806700237308, -2.3905396445947888)),
    ("inv_boxcox1p", (1.2, 0.7), (1.2986536865725665, -0.74730536558197757)),
    ("voigt_profile", (0.4, 1.2, 0.3), (-0.059845683628370512, -0.1620831763487493, -0.14862832023198575)),
]  # fmt: skip


@pytest.mark.parametrize(("name", "args", "wanted"), OF_MORE)
def test_gradients_in_several_arguments(name: str, args: tuple[float, ...], wanted: tuple[float, ...]):
    got = grad(getattr(special, name), tuple(range(len(args))))(*args)
    assert got == pytest.approx(wanted, rel=3e-12)
    assert all(type(one) is float for one in got)


# ------------------------------------------------------------------------------------------------ corners

# What, the derivative of which order, where, and its value: closed forms.
CORNERS: list[tuple[str, Callable[[Any], Any], int, float, float]] = [
    ("xlogy in x at (0, 2)", lambda x: special.xlogy(x, 2.0), 1, 0.0, math.log(2.0)),
    ("xlogy in x at (0, 0)", lambda x: special.xlogy(x, 0.0), 1, 0.0, -INF),
    ("xlogy in y at (0, 0)", lambda y: special.xlogy(0.0, y), 1, 0.0, 0.0),
    ("xlogy in y at (0, 2)", lambda y: special.xlogy(0.0, y), 1, 2.0, 0.0),
    ("xlog1py in y at (0, -1)", lambda y: special.xlog1py(0.0, y), 1, -1.0, 0.0),
    ("entr at 0", special.entr, 1, 0.0, INF),
    ("rel_entr in y at (0, 0)", lambda y: special.rel_entr(0.0, y), 1, 0.0, 0.0),
    ("rel_entr in y at (0, 2)", lambda y: special.rel_entr(0.0, y), 1, 2.0, 0.0),
    ("rel_entr out of range", lambda x: special.rel_entr(x, 1e200), 1, 1e-200, 1.0 - 400.0 * math.log(10.0)),
    ("kl_div in y at (0, 0)", lambda y: special.kl_div(0.0, y), 1, 0.0, 1.0),
    ("kl_div out of range", lambda x: special.kl_div(x, 1e200), 1, 1e-200, -400.0 * math.log(10.0)),
    ("kl_div near its minimum", lambda x: special.kl_div(x, 1.0), 1, 1.0 + 2.0**-40, math.log1p(2.0**-40)),
    ("erfinv at 1", special.erfinv, 1, 1.0, INF),
    ("erfinv at -1", special.erfinv, 1, -1.0, INF),
    ("erfcinv at 0", special.erfcinv, 1, 0.0, -INF),
    ("ndtri at 0", special.ndtri, 1, 0.0, INF),
    ("ndtri at 1", special.ndtri, 1, 1.0, INF),
    ("logit at 0", special.logit, 1, 0.0, INF),
    ("log_ndtr far out", special.log_ndtr, 1, -1e10, 1e10),
    ("log_ndtr far out", special.log_ndtr, 2, -1e10, -1.0),
    ("log_ndtr far out on the other side", special.log_ndtr, 1, 50.0, 0.0),
    ("expit far out", special.expit, 1, -1000.0, 0.0),
    ("expit far out", special.expit, 1, 1000.0, 0.0),
    ("log_expit far out", special.log_expit, 1, -1e300, 1.0),
    ("psi near a pole", special.psi, 1, -0.99999999, 9999999899504817.9),
    ("psi near a pole", special.psi, 1, 1e-8, 1e16),
    ("gammaln far out", special.gammaln, 1, 1e300, 300.0 * math.log(10.0)),
    ("gammaln far out", special.gammaln, 2, 1e300, 1e-300),
    ("gammaln at 0", special.gammaln, 1, 0.0, -INF),
    ("gammainc(1, 0)", lambda x: special.gammainc(1.0, x), 1, 0.0, 1.0),
    ("gammainc(1, 0)", lambda x: special.gammainc(1.0, x), 2, 0.0, -1.0),
    ("gammainc(2, 0)", lambda x: special.gammainc(2.0, x), 1, 0.0, 0.0),
    ("gammainc(2, 0)", lambda x: special.gammainc(2.0, x), 2, 0.0, 1.0),
    ("gammainc(3, 0)", lambda x: special.gammainc(3.0, x), 3, 0.0, 1.0),
    ("gammainc(1/2, 0)", lambda x: special.gammainc(0.5, x), 1, 0.0, INF),
    ("gammainc(2, inf)", lambda x: special.gammainc(2.0, x), 1, INF, 0.0),
    ("gammaincinv(2, 0)", lambda y: special.gammaincinv(2.0, y), 1, 0.0, INF),
    ("gammaincinv(1, 0)", lambda y: special.gammaincinv(1.0, y), 1, 0.0, 1.0),
    ("betainc(1, 3, 0)", lambda x: special.betainc(1.0, 3.0, x), 1, 0.0, 3.0),
    ("betainc(2, 3, 0)", lambda x: special.betainc(2.0, 3.0, x), 1, 0.0, 0.0),
    ("betainc(2, 3, 0)", lambda x: special.betainc(2.0, 3.0, x), 2, 0.0, 12.0),
    ("betainc(2, 3, 0)", lambda x: special.betainc(2.0, 3.0, x), 3, 0.0, -48.0),
    ("betainc(1/2, 3, 0)", lambda x: special.betainc(0.5, 3.0, x), 1, 0.0, INF),
    ("betainc(3, 1, 1)", lambda x: special.betainc(3.0, 1.0, x), 1, 1.0, 3.0),
    ("betainc(3, 2, 1)", lambda x: special.betainc(3.0, 2.0, x), 2, 1.0, -12.0),
    ("betainc(3, 1/2, 1)", lambda x: special.betainc(3.0, 0.5, x), 1, 1.0, INF),
    ("betainc(1000, 1000, 0)", lambda x: special.betainc(1000.0, 1000.0, x), 1, 0.0, 0.0),
    ("bdtr of all", lambda p: special.bdtr(3, 3, p), 1, 0.4, 0.0),
    ("huber inside", lambda r: special.huber(1.0, r), 1, 0.5, 0.5),
    ("huber at the seam", lambda r: special.huber(1.0, r), 1, -1.0, -1.0),
    ("huber outside", lambda r: special.huber(1.0, r), 1, 7.0, 1.0),
    ("huber in delta", lambda delta: special.huber(delta, 7.0), 1, 2.0, 5.0),
    ("pseudo_huber at delta 0", lambda delta: special.pseudo_huber(delta, -3.0), 1, 0.0, 3.0),
    ("pseudo_huber at (0, 0)", lambda delta: special.pseudo_huber(delta, 0.0), 1, 0.0, 0.0),
    ("boxcox in lmbda at 0", lambda p: special.boxcox(2.5, p), 1, 0.0, 0.5 * math.log(2.5) ** 2),
    ("boxcox in lmbda at 0", lambda p: special.boxcox(2.5, p), 2, 0.0, math.log(2.5) ** 3 / 3.0),
    ("inv_boxcox in lmbda at 0", lambda p: special.inv_boxcox(1.5, p), 1, 0.0, -0.5 * math.exp(1.5) * 1.5**2),
    ("inv_boxcox at lmbda 0", lambda y: special.inv_boxcox(y, 0.0), 1, 1.5, math.exp(1.5)),
    ("exprel at 0", special.exprel, 1, 0.0, 0.5),
    ("exprel at 0", special.exprel, 3, 0.0, 0.25),
    ("j1 at 0", special.j1, 1, 0.0, 0.5),
    ("i0e at 0", special.i0e, 1, 0.0, 0.0),
    ("i1e at 0", special.i1e, 1, 0.0, 0.5),
    ("ive far out", lambda x: special.ive(3.0, x), 1, 1e200, 0.0),
    ("ive far out", lambda x: special.ive(0.5, x), 1, 1e6, -0.5e-9 / math.sqrt(2.0 * math.pi)),
    ("kve far out", lambda x: special.kve(0.5, x), 1, 1e6, -0.5e-9 * math.sqrt(0.5 * math.pi)),
    ("kve far out", lambda x: special.kve(0.5, x), 2, 1e6, 0.75e-15 * math.sqrt(0.5 * math.pi)),
    ("spherical_jn(0, 0)", lambda x: special.spherical_jn(0, x), 2, 0.0, -1.0 / 3.0),
    ("spherical_jn(1, 0)", lambda x: special.spherical_jn(1, x), 1, 0.0, 1.0 / 3.0),
    ("Si at 0", lambda x: special.sici(x)[0], 1, 0.0, 1.0),
    ("spence at 1", special.spence, 2, 1.0, 0.5),
    ("expn(0, x)", lambda x: special.expn(0, x), 1, 1.0, -2.0 * math.exp(-1.0)),
    ("diric at 0", lambda x: special.diric(x, 5), 1, 0.0, 0.0),
    ("diric at 0", lambda x: special.diric(x, 5), 2, 0.0, -2.0),
    ("diric after a turn", lambda x: special.diric(x, 4), 2, 2.0 * math.pi, 1.25),
    ("ellipk at 0", special.ellipk, 1, 0.0, math.pi / 8.0),
    ("ellipe at 0", special.ellipe, 2, 0.0, -3.0 * math.pi / 64.0),
    ("ellipkm1 at 1", special.ellipkm1, 1, 1.0, -math.pi / 8.0),
    ("zeta", lambda q: special.zeta(2.0, q), 1, 1.0, -2.0 * scipy.special.zeta(3.0)),
    ("polygamma of order 0", lambda x: special.polygamma(0, x), 1, 1.0, math.pi**2 / 6.0),
    ("factorial of -1.5", special.factorial, 1, -1.5, 0.0),
    ("factorial of 0", special.factorial, 1, 0.0, -np.euler_gamma),
    ("comb of what cannot be", lambda n: special.comb(n, 5), 1, 3.0, 0.0),
    ("comb", lambda n: special.comb(n, 2), 1, 5.0, 4.5),
    ("perm", lambda n: special.perm(n, 2), 1, 5.0, 9.0),
    ("binom in n", lambda n: special.binom(n, 2.0), 2, 5.0, 1.0),
    ("multigammaln", lambda a: special.multigammaln(a, 2), 1, 1.5, scipy.special.psi(1.5) + scipy.special.psi(1.0)),
    ("a polynomial of degree 0", lambda x: special.eval_legendre(0, x), 1, 0.3, 0.0),
    ("a polynomial's end", lambda x: special.eval_chebyt(4, x), 1, 1.0, 16.0),
    ("lambertw at 0", lambda x: np.real(special.lambertw(x)), 1, 0.0, 1.0),
    ("lambertw at e", lambda x: np.real(special.lambertw(x)), 1, math.e, 0.5 / math.e),
]  # fmt: skip


@pytest.mark.parametrize(("what", "f", "order", "x", "wanted"), CORNERS)
def test_corners(what: str, f: Callable[[Any], Any], order: int, x: float, wanted: float):
    for derivative in derivatives(f, order):
        assert derivative(x) == pytest.approx(wanted, rel=1e-12, abs=1e-14)
        assert derivative(np.array(x)) == pytest.approx(wanted, rel=1e-12, abs=1e-14)


def test_parts_whose_other_part_is_infinite():
    at = np.array(0.0)
    for name, wanted in {"sici": -1.0 / 3.0, "shichi": 1.0 / 3.0}.items():
        for derivative in derivatives(lambda x, name=name: getattr(special, name)(x)[0], 3):
            assert derivative(at) == pytest.approx(wanted)


def test_strong_zeros():
    x = np.array([0.0, 0.5])
    assert grad(lambda x: np.sum(np.where(x > 0, special.entr(x), 0.0)))(x).tolist() == [0.0, -math.log(0.5) - 1.0]
    assert grad(lambda x: np.sum(np.where(x > 0, special.betainc(0.5, 2.0, x), 0.0)))(x)[0] == 0.0
    got = grad(lambda a: np.sum(special.logsumexp(a, axis=1) * np.array([0.0, 1.0])))(np.array([[np.nan, 1.0], [2.0, 2.0]]))
    assert got.tolist() == [[0.0, 0.0], [0.5, 0.5]]


LOGSUMEXP = [
    ([-INF, 0.0], [0.0, 1.0]),
    ([INF, 0.0], [1.0, 0.0]),
    ([INF, INF, 1.0], [0.5, 0.5, 0.0]),
    ([-INF, -INF], [0.5, 0.5]),
    ([1000.0, 1000.0], [0.5, 0.5]),
    ([-1000.0, -1000.0], [0.5, 0.5]),
]


@pytest.mark.parametrize(("a", "wanted"), LOGSUMEXP)
def test_logsumexp_with_infinities(a: list[float], wanted: list[float]):
    x = np.array(a)
    np.testing.assert_allclose(grad(special.logsumexp)(x), wanted, rtol=1e-15)
    np.testing.assert_allclose(grad(lambda x: special.logsumexp(x, b=np.ones(len(a))))(x), wanted, rtol=1e-15)
    np.testing.assert_allclose(jvp(special.logsumexp, (x,), (np.arange(len(a)) + 1.0,))[1], np.dot(wanted, np.arange(len(a)) + 1.0))


def test_logsumexp_of_what_has_no_weight():
    a = np.array([np.nan, 1.0, INF])
    assert grad(lambda a: special.logsumexp(a, b=np.array([0.0, 2.0, 0.0])))(a).tolist() == [0.0, 1.0, 0.0]


def test_logsumexp_with_signs():
    a, b = np.array([1.0, 2.0]), np.array([1.0, -1.0])
    (value, sign), pullback = vjp(lambda a, b: special.logsumexp(a, b=b, return_sign=True)[0:2], a, b)
    assert (value, sign) == scipy.special.logsumexp(a, b=b, return_sign=True)
    by_a, by_b = pullback((1.0, 0.0))
    total = math.e - math.e**2
    np.testing.assert_allclose(by_a, np.array([math.e, -(math.e**2)]) / total, rtol=1e-14)
    np.testing.assert_allclose(by_b, np.array([math.e, math.e**2]) / total, rtol=1e-14)


# ------------------------------------------------------------------------------------------------ kinds of numbers


def floats(maker: Maker) -> float:
    return float(maker(1)[0])


CALLS: list[tuple[str, Callable[..., Any], tuple[float, ...]]] = [
    *((name, getattr(special, name), (floats(make),)) for name, make in UNARY.items()),
    *((name, getattr(special, name), tuple(map(floats, makers))) for name, makers in BINARY.items()),
    *(
        (name, lambda x, name=name, v=v: getattr(special, name)(*v, x), (floats(make),))
        for name, (v, make) in IN_ORDER.items()
        if np.ndim(v[-1]) == 0
    ),
]


@pytest.mark.parametrize(("name", "f", "args"), CALLS)
def test_python_floats_stay_python_floats(name: str, f: Callable[..., Any], args: tuple[float, ...]):
    value, tangent = jvp(f, args, args)
    second = jvp(lambda *args: jvp(f, args, args)[1], args, args)
    for number in (value, tangent, *second, *grad(f, tuple(range(len(args))))(*args)):
        assert type(number) is float


CONSTANTS = [2, 2.0, np.float32(2.0), np.int64(2), np.array([2, 3, 1]), np.array([2, 3, 1], np.uint8), [2.0, 3.0, 1.0], True]


@pytest.mark.parametrize("constant", CONSTANTS, ids=repr)
@pytest.mark.parametrize("name", ["beta", "xlogy", "huber", "boxcox", "jv", "gammainc", "eval_legendre"])
def test_constants_of_every_kind(name: str, constant: Any):
    f, x = getattr(special, name), np.array([[0.7, 2.1, 0.31], [0.42, 0.45, 0.8]])
    value, tangent = jvp(lambda x: f(constant, x), (x,), (np.ones_like(x),))
    np.testing.assert_array_equal(value, f(constant, x))
    ahead, behind = f(constant, x + 1e-6), f(constant, x - 1e-6)
    np.testing.assert_allclose(tangent, (ahead - behind) / 2e-6, rtol=1e-6, atol=1e-7)


def test_orders_below_zero_of_unsigned_types():
    """J0' = -J1: an order of 0 - 1 must not become 255."""
    x, zero = np.array([0.5, 1.5]), np.array([0, 0], np.uint8)
    np.testing.assert_allclose(grad(lambda x: np.sum(special.jv(zero, x)))(x), -scipy.special.j1(x), rtol=1e-14)
    np.testing.assert_allclose(grad(lambda q: np.sum(special.zeta(zero + 2, q)))(x), -2.0 * scipy.special.zeta(3.0, x), rtol=1e-14)
    np.testing.assert_allclose(grad(lambda x: np.sum(special.spherical_jn(zero, x)))(x), -scipy.special.spherical_jn(1, x), rtol=1e-14)
    many = np.array([200, 200], np.uint8)
    assert grad(lambda a: np.sum(special.owens_t(many, a)))(x * 0.0).tolist() == [0.0, 0.0]


def test_lists_that_hold_tracers():
    assert grad(lambda x: special.logsumexp([x, 0.0]))(0.0) == pytest.approx(0.5)
    assert grad(lambda x: special.softmax([x, 0.0])[0])(0.0) == pytest.approx(0.25)


# ------------------------------------------------------------------------------------------------ the namespace


def test_plain_scipy_differentiates_too():
    assert grad(scipy.special.gammaln)(2.0) == pytest.approx(1.0 - np.euler_gamma)
    assert special.gammaln is scipy.special.gammaln


def test_what_is_no_ufunc_gives_scipys_values_on_plain_arrays():
    x = np.array([[0.3, 1.2], [0.7, 2.5]])
    for name, args in {
        "logsumexp": (x, 1), "softmax": (x, 0), "log_softmax": (x, 0), "polygamma": (2, x), "zeta": (2.0, x), "spherical_jn": (2, x),
        "lambertw": (x,), "diric": (x, 4), "comb": (x + 3.0, 2), "perm": (x + 3.0, 2), "factorial": (x,), "jvp": (1.0, x, 2),
    }.items():  # fmt: skip
        np.testing.assert_array_equal(getattr(special, name)(*args), getattr(scipy.special, name)(*args))
    assert special.comb(5, 2, exact=True) == 10
    assert special.factorial(5, exact=True) == 120
    np.testing.assert_array_equal(special.roots_legendre(3)[0], scipy.special.roots_legendre(3)[0])


def names_without_rule() -> list[str]:
    own = {name for name in vars(special) if not name.startswith("_")}
    found = []
    for name in scipy.special.__all__:
        value = getattr(scipy.special, name)
        if callable(value) and name not in own and not (isinstance(value, np.ufunc | type(np.sinc)) and value in OPERATIONS):
            found.append(name)
    return sorted(set(found) - {"SpecialFunctionError", "SpecialFunctionWarning", "errstate", "geterr", "seterr", "test"})


@pytest.mark.parametrize("name", names_without_rule())
def test_all_else_raises_by_name(name: str):
    value = getattr(scipy.special, name)
    count = value.nin if isinstance(value, np.ufunc) else 1
    with pytest.raises(NoRuleError, match=rf"\b{name}\b.* has no derivative rule yet"):
        grad(lambda x: getattr(special, name)(*[x] * count))(0.5)
    if isinstance(value, np.ufunc):
        with pytest.raises(NoRuleError, match=rf"\b{value.__name__}\b.* has no derivative rule yet"):
            grad(lambda x: value(*[x] * count))(0.5)


IN_PARAMETERS = [
    ("jv", "v", lambda x: special.jv(x, 1.0)), ("yn", "v", lambda x: special.yv(x, 1.0)), ("kv", "v", lambda x: special.kv(x, 1.0)),
    ("ive", "v", lambda x: special.ive(x, 1.0)), ("polygamma", "n", lambda x: special.polygamma(x, 1.0)),
    ("zeta", "x", lambda x: special.zeta(x, 1.0)), ("zeta", "x", special.zeta), ("gammainc", "a", lambda x: special.gammainc(x, 1.0)),
    ("betainc", "a", lambda x: special.betainc(x, 1.0, 0.5)), ("betainc", "b", lambda x: special.betainc(1.0, x, 0.5)),
    ("expn", "n", lambda x: special.expn(x, 1.0)), ("hyp2f1", "c", lambda x: special.hyp2f1(0.5, 0.5, x, 0.5)),
    ("spherical_jn", "n", lambda x: special.spherical_jn(x, 1.0)), ("lambertw", "k", lambda x: special.lambertw(1.0, x)),
    ("diric", "n", lambda x: special.diric(1.0, x)), ("multigammaln", "d", lambda x: special.multigammaln(3.0, x)),
    ("ellipj", "m", lambda x: special.ellipj(0.5, x)[0]), ("gdtr", "b", lambda x: special.gdtr(1.0, x, 1.0)),
    ("jvp", "v", lambda x: special.jvp(x, 1.0)), ("stdtr", "df", lambda x: special.stdtr(x, 1.0)),
    ("comb", "exact", lambda x: special.comb(x, 2, exact=True)), ("factorial", "exact", lambda x: special.factorial(x, exact=True)),
]  # fmt: skip


@pytest.mark.parametrize(("name", "argument", "f"), IN_PARAMETERS)
def test_parameters_without_a_rule_raise_by_name(name: str, argument: str, f: Callable[[Any], Any]):
    for run in (grad(f), forward(f)):
        with pytest.raises(NoRuleError, match=rf"scipy.special.{name.replace('yn', 'yv')}: .*\b{argument}\b.* has no derivative rule yet"):
            run(0.5)


@pytest.mark.parametrize("name", ["jve", "yve", "ive"])
def test_what_is_not_analytic_raises_at_complex_numbers(name: str):
    with pytest.raises(NoRuleError, match=f"{name}: the derivative at complex numbers"):
        grad(lambda z: getattr(special, name)(1.0, z).real)(1.0 + 1.0j)


def test_constants_pass():
    assert grad(lambda x: x * special.gammasgn(x) + special.round(x))(-0.5) == -1.0


def ran(code: str, **environment: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ, **environment})
    return done.stdout.strip()


def test_the_package_does_without_scipy():
    assert ran("import sys, funcgrad; print('scipy' in sys.modules)") == "False"
    code = "import sys; sys.modules['scipy'] = None\nimport funcgrad\ntry:\n    import funcgrad.scipy"
    code += "\nexcept ImportError as error:\n    print(error)"
    assert ran(code) == "funcgrad.scipy needs SciPy, which is not installed: pip install funcgrad[scipy]"


def test_where_scipy_wraps_its_ufuncs():
    code = "from funcgrad import grad; from funcgrad.scipy import special; print(grad(special.expit)(0.0))"
    assert ran(code, SCIPY_ARRAY_API="1") == "0.25"


def test_names_that_are_numpys_own_have_its_rule_from_the_start():
    code = "from funcgrad import grad; from funcgrad.scipy import special; print(grad(special.sinc)(1.0))"
    assert ran(code) == "-1.0"
