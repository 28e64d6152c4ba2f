/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_spec.tbl.h - every device that aon knows, once.
 *
 *	GPU(KEY, "name as its driver says it", compute capability x 10 (AMD: 0),
 *	    SMs, boost MHz, memory MHz, memory GiB, memory GB/s, L2 MiB, L2 GB/s, links GB/s,
 *	    host GB/s, launch ns,
 *	    without tensor cores, TFLOPS:  fp64, fp32, fp16, bf16,
 *	    with tensor cores, DENSE:      fp64, fp32, tf32, fp16, bf16, fp8, fp4, int8)
 *	ALIAS(KEY, "another name, as drivers or people write it")
 *	SOURCE(letter, "what it is")
 *	NUMBER(letter, value) is what a number becomes, as whoever includes this defines it
 *
 * Every number stands in the letter of its source; 0 is: there is none, or nobody says it.
 * Vendors print peaks with 2:4 sparsity: here they are halved. Links and host are one way, the
 * vendors' figures are both ways together. What a driver calls a device is one: of MI250 that is
 * one of the two dies of a card. RTX: fp16 and fp8 are with accumulation in fp16; in fp32, which
 * bf16 always has, they reach half. Memory GB/s is memory clock times width where the driver
 * tells the clock, else as printed. L2 of MI300X and MI350 is that of all dies together; L2 GB/s are
 * bytes a clock of the white papers (Volta 2048, Ampere 5120; CDNA 2 4096, CDNA 3
 * and 4 2048 of each of eight dies) times the clock.
 */
/* clang-format off */
#define D(v) NUMBER('D', v)
#define W(v) NUMBER('W', v)
#define X(v) NUMBER('X', v)
#define T(v) NUMBER('T', v)
#define S(v) NUMBER('S', v)
#define C(v) NUMBER('C', v)
#define B(v) NUMBER('B', v)
#define L(v) NUMBER('L', v)
#define N(v) NUMBER('N', v)
#define R(v) NUMBER('R', v)

SOURCE('D', "the vendor's data sheet or product page")
SOURCE('W', "the vendor's white paper on the architecture")
SOURCE('X', "XLA's target configuration; it counts a multiply-add once, here it is two")
SOURCE('T', "device properties in traces of PyTorch's profiler")
SOURCE('S', "nvidia-smi: the driver's greatest clock")
SOURCE('C', "computed: units, operations a clock, clock")
SOURCE('B', "the standard of the bus: PCIe lanes times rate")
SOURCE('L', "least time from kernel to kernel on a stream in recorded traces")
SOURCE('N', "of its nearest relative: none of its own is published")
SOURCE('R', "reported by several who have one; the vendor prints no data sheet")

GPU(V100_SXM, "Tesla V100-SXM2-32GB", 70,
    T(80), X(1530), X(877), T(32), X(898), X(6), C(3133), D(150), B(15.8), L(2000),
    D(7.8), D(15.7), W(31.4), 0,
    0, 0, 0, D(125), 0, 0, 0, 0)
GPU(V100_SXM_16, "Tesla V100-SXM2-16GB", 70,
    T(80), X(1530), X(877), T(16), X(898), X(6), C(3133), D(150), B(15.8), N(2000),
    D(7.8), D(15.7), W(31.4), 0,
    0, 0, 0, D(125), 0, 0, 0, 0)
GPU(V100_PCIE, "Tesla V100-PCIE-16GB", 70,
    D(80), S(1380), S(877), D(16), D(898), X(6), C(2826), 0, B(15.8), N(2000),
    D(7), D(14), C(28), 0,
    0, 0, 0, D(112), 0, 0, 0, 0)
GPU(T4, "Tesla T4", 75,
    D(40), S(1590), S(5001), D(16), D(320), W(4), 0, 0, B(15.8), N(2000),
    C(0.25), D(8.1), C(16.2), 0,
    0, 0, 0, D(65), 0, 0, 0, D(130))
GPU(A100_SXM_40, "NVIDIA A100-SXM4-40GB", 80,
    X(108), X(1410), X(1215), X(40), X(1555), X(40), C(7219), D(300), B(31.5), L(3400),
    D(9.7), D(19.5), W(78), W(39),
    D(19.5), 0, D(156), D(312), D(312), 0, 0, D(624))
GPU(A100_SXM_80, "NVIDIA A100-SXM4-80GB", 80,
    T(108), X(1410), S(1593), T(80), X(2039), X(40), C(7219), D(300), B(31.5), N(3400),
    D(9.7), D(19.5), W(78), W(39),
    D(19.5), 0, D(156), D(312), D(312), 0, 0, D(624))
GPU(A100_PCIE_40, "NVIDIA A100-PCIE-40GB", 80,
    D(108), S(1410), S(1215), D(40), D(1555), W(40), C(7219), D(300), B(31.5), N(3400),
    D(9.7), D(19.5), W(78), W(39),
    D(19.5), 0, D(156), D(312), D(312), 0, 0, D(624))
GPU(A100_PCIE_80, "NVIDIA A100 80GB PCIe", 80,
    X(108), S(1410), S(1512), D(80), D(1935), X(40), C(7219), D(300), B(31.5), N(3400),
    D(9.7), D(19.5), W(78), W(39),
    D(19.5), 0, D(156), D(312), D(312), 0, 0, D(624))
GPU(A30, "NVIDIA A30", 80,
    D(56), S(1440), S(1215), D(24), D(933), D(24), 0, D(100), B(31.5), N(3400),
    D(5.2), D(10.3), C(41.3), C(20.6),
    D(10.3), 0, D(82), D(165), D(165), 0, 0, D(330))
GPU(A10, "NVIDIA A10", 86,
    D(72), S(1695), S(6251), D(24), D(600), W(6), 0, 0, B(31.5), N(3400),
    C(0.49), D(31.2), C(31.2), C(31.2),
    0, 0, D(62.5), D(125), D(125), 0, 0, D(250))
GPU(A40, "NVIDIA A40", 86,
    D(84), S(1740), S(7251), D(48), D(696), W(6), 0, D(56.3), B(31.5), N(3400),
    C(0.58), D(37.4), C(37.4), C(37.4),
    0, 0, D(74.8), D(149.7), D(149.7), 0, 0, D(299.3))
GPU(RTX_A6000, "NVIDIA RTX A6000", 86,
    X(84), X(1800), S(8001), D(48), X(768), X(6), 0, D(56.3), B(31.5), N(3400),
    C(0.6), D(38.7), C(38.7), C(38.7),
    0, 0, D(77.4), D(154.8), D(154.8), 0, 0, D(309.7))
GPU(RTX_3090, "NVIDIA GeForce RTX 3090", 86,
    W(82), W(1695), S(9751), W(24), W(936), W(6), 0, W(56.3), B(31.5), N(3400),
    W(0.56), W(35.6), W(35.6), W(35.6),
    0, 0, W(35.6), W(142), W(71), 0, 0, W(284))
GPU(L4, "NVIDIA L4", 89,
    D(58), S(2040), S(6251), D(24), D(300), W(48), 0, 0, B(31.5), N(2430),
    C(0.47), D(30.3), C(30.3), C(30.3),
    0, 0, D(60), D(121), D(121), D(242.5), 0, D(242.5))
GPU(L40, "NVIDIA L40", 89,
    D(142), S(2490), S(9001), D(48), D(864), W(96), 0, 0, B(31.5), N(2430),
    C(1.41), D(90.5), C(90.5), C(90.5),
    0, 0, D(90.5), D(181), D(181), D(362), 0, D(362))
GPU(L40S, "NVIDIA L40S", 89,
    D(142), S(2520), S(9001), D(48), D(864), W(96), 0, 0, B(31.5), N(2430),
    C(1.43), D(91.6), C(91.6), C(91.6),
    0, 0, D(183), D(362), D(362), D(733), 0, D(733))
GPU(RTX_4090, "NVIDIA GeForce RTX 4090", 89,
    W(128), W(2520), S(10501), W(24), W(1008), W(72), 0, 0, B(31.5), N(2430),
    C(1.29), W(82.6), W(82.6), W(82.6),
    0, 0, W(82.6), W(330.3), W(165.2), W(660.6), 0, W(660.6))
GPU(H100_SXM, "NVIDIA H100 80GB HBM3", 90,
    T(132), X(1980), X(2619), T(80), X(3352), X(50), 0, D(450), B(63), L(2430),
    W(33.5), W(66.9), W(133.8), W(133.8),
    W(66.9), 0, W(494.7), W(989.4), W(989.4), W(1978.9), 0, W(1978.9))
GPU(H100_PCIE, "NVIDIA H100 PCIe", 90,
    X(114), X(1755), S(1593), X(80), X(2039), X(50), 0, D(300), B(63), N(2430),
    W(25.6), W(51.2), W(102.4), W(102.4),
    W(51.2), 0, W(378), W(756), W(756), W(1513), 0, W(1513))
GPU(H100_NVL, "NVIDIA H100 NVL", 90,
    D(132), S(1785), S(2619), D(94), D(3938), N(50), 0, D(300), B(63), N(2430),
    D(30), D(60), C(120), C(120),
    D(60), 0, D(417.5), D(835.5), D(835.5), D(1670.5), 0, D(1670.5))
GPU(H200, "NVIDIA H200", 90,
    X(132), X(1980), S(3201), D(141), X(4800), X(50), 0, D(450), B(63), N(2430),
    D(33.5), D(66.9), N(133.8), N(133.8),
    D(66.9), 0, D(494.7), D(989.4), D(989.4), D(1978.9), 0, D(1978.9))
GPU(GH200, "NVIDIA GH200 480GB", 90,
    D(132), S(1980), S(2619), D(96), D(4000), N(50), 0, D(450), D(450), N(2430),
    D(33.5), D(66.9), N(133.8), N(133.8),
    D(66.9), 0, D(494.7), D(989.4), D(989.4), D(1978.9), 0, D(1978.9))
GPU(H20, "NVIDIA H20", 90,
    R(78), S(1980), S(2619), R(96), R(4000), R(60), 0, R(450), B(63), N(2430),
    R(1), R(44), C(88), C(88),
    R(1), 0, R(74), R(148), R(148), R(296), 0, R(296))
GPU(H800_SXM, "NVIDIA H800", 90,
    T(132), S(1980), S(2619), T(80), N(3352), N(50), 0, R(200), B(63), N(2430),
    R(1), N(66.9), N(133.8), N(133.8),
    R(1), 0, N(494.7), N(989.4), N(989.4), N(1978.9), 0, N(1978.9))
GPU(B200, "NVIDIA B200", 100,
    T(148), X(1965), X(3996), D(180), X(7672), X(126.5), 0, D(900), B(63), N(2430),
    X(37.2), X(74.4), X(74.4), X(74.4),
    D(37), 0, D(1100), D(2250), D(2250), D(4500), D(9000), D(4500))
GPU(GB200, "NVIDIA GB200", 100,
    X(152), X(2062), X(3996), D(186), X(7928), X(129.25), 0, D(900), D(450), N(2430),
    X(40.1), X(80.2), X(80.2), X(80.2),
    D(40), 0, D(1250), D(2500), D(2500), D(5000), D(10000), D(5000))
GPU(B300, "NVIDIA B300", 103,
    X(158), X(1965), N(3996), X(276.6), X(7936), X(129.25), 0, D(900), N(63), N(2430),
    D(1.25), X(79.5), X(79.5), X(79.5),
    D(1.25), 0, D(1125), D(2250), D(2250), D(4500), D(13125), D(125))
GPU(GB300, "NVIDIA GB300", 103,
    X(152), X(2070), X(3996), D(279), X(7928), X(129.25), 0, D(900), D(450), N(2430),
    D(1.3), X(80.5), X(80.5), X(80.5),
    D(1.3), 0, D(1250), D(2500), D(2500), D(5000), D(15000), D(165))
GPU(RTX_5090, "NVIDIA GeForce RTX 5090", 120,
    W(170), W(2407), S(14001), W(32), W(1792), W(96), 0, 0, B(63), N(2430),
    C(1.64), W(104.8), W(104.8), W(104.8),
    0, 0, W(104.8), W(419), W(209.5), W(838), W(1676), W(838))
GPU(MI210, "AMD Instinct MI210", 0,
    T(104), D(1700), D(1600), D(64), D(1638), D(8), C(6963), D(150), B(31.5), L(2080),
    D(22.6), D(22.6), 0, 0,
    D(45.3), D(45.3), 0, D(181), D(181), 0, 0, D(181))
GPU(MI250, "AMD Instinct MI250", 0,
    W(104), D(1700), D(1600), D(64), X(1638), X(8), C(6963), C(350), B(31.5), N(2080),
    D(22.6), D(22.6), 0, 0,
    D(45.3), D(45.3), 0, D(181), D(181), 0, 0, D(181))
GPU(MI250X, "AMD Instinct MI250X", 0,
    X(110), X(1700), D(1600), D(64), X(1638), X(8), C(6963), C(400), B(31.5), N(2080),
    D(23.9), D(23.9), 0, 0,
    D(47.9), D(47.9), 0, D(191.5), D(191.5), 0, 0, D(191.5))
GPU(MI300X, "AMD Instinct MI300X", 0,
    T(304), D(2100), D(2600), T(192), D(5300), W(32), C(34406), D(448), B(63), L(2960),
    D(81.7), D(163.4), 0, 0,
    D(163.4), D(163.4), D(653.7), D(1307.4), D(1307.4), D(2614.9), 0, D(2614.9))
GPU(MI350X, "AMD Instinct MI350X", 0,
    X(256), X(2200), D(4000), D(288), D(8000), W(32), C(36045), D(537.6), B(63), N(2960),
    D(72.1), D(144.2), 0, 0,
    D(72.1), D(144.2), 0, D(2306.9), D(2306.9), D(4613.7), D(9227.5), D(4613.7))
GPU(MI355X, "AMD Instinct MI355X", 0,
    D(256), D(2400), D(4000), D(288), D(8000), W(32), C(39322), D(537.6), B(63), N(2960),
    D(78.6), D(157.3), 0, 0,
    D(78.6), D(157.3), 0, D(2516.6), D(2516.6), D(5033.2), D(10066.3), D(5033.2))

ALIAS(V100_SXM,    "Tesla V100-DGXS-32GB")    ALIAS(V100_SXM_16, "Tesla V100-DGXS-16GB")
ALIAS(V100_SXM,    "Tesla V100-SXM3-32GB")    ALIAS(V100_SXM,    "V100")
ALIAS(V100_PCIE,   "Tesla V100-PCIE-32GB")    ALIAS(T4,          "NVIDIA T4")
ALIAS(A100_SXM_40, "A100-SXM4-40GB")          ALIAS(A100_SXM_40, "NVIDIA A100-PG509-200")
ALIAS(A100_SXM_80, "A100-SXM4-80GB")          ALIAS(A100_SXM_80, "A100")
ALIAS(A100_SXM_80, "A100_SXM")                ALIAS(A100_SXM_40, "A100_40")
ALIAS(A100_SXM_80, "A100_80")                 ALIAS(A100_PCIE_40, "A100-PCIE-40GB")
ALIAS(A100_PCIE_80, "A100_PCIE")              ALIAS(RTX_4090,    "RTX4090")
ALIAS(H100_SXM,    "NVIDIA H100 SXM5 80GB")   ALIAS(H100_SXM,    "H100")
ALIAS(H200,        "NVIDIA H200 141GB HBM3e") ALIAS(H800_SXM,    "H800")
ALIAS(RTX_5090,    "RTX5090")              ALIAS(RTX_A6000,   "A6000")
ALIAS(RTX_3090,    "RTX3090")
ALIAS(MI250,       "AMD Instinct MI250X/MI250") ALIAS(MI250,     "AMD Instinct MI250X / MI250")
ALIAS(MI300X,      "AMD Instinct MI300X VF")  ALIAS(MI300X,      "AMD Instinct MI300X OAM")
ALIAS(MI350X,      "MI350")                   ALIAS(MI350X,      "AMD Instinct MI350X VF")
ALIAS(MI355X,      "AMD Instinct MI355X VF")  ALIAS(GB200,       "NVIDIA GB200 NVL")
/* clang-format on */
#undef D
#undef W
#undef X
#undef T
#undef S
#undef C
#undef B
#undef L
#undef N
#undef R
#undef GPU
#undef ALIAS
#undef SOURCE
#undef NUMBER
