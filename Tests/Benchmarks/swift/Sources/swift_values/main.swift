import Harness

/* What a value costs: to read, to change, to be observed.

   The same for every peer: the loop, which calls a function that is not inlined for each access,
   and checks the result. Numbers: which measurement, how many repetitions. Each prints the median
   of five runs, after a first one that does not count. */
let measurements = Measurements(program: Program(numbers: 2))
measurements.run()
