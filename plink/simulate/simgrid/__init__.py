"""SimGrid: networks as it has them (`platforms`), and a program that runs on it (`program`).

SimGrid (Casanova, Giersch, Legrand, Quinson and Suter, *Versatile, Scalable, and Accurate
Simulation of Distributed Applications and Platforms*, 2014) is LGPL-2.1: the program is linked with
it where it is installed, and plink runs the program.
"""
