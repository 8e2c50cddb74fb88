/** Upper bounds of histograms for what takes less than a few milliseconds, in seconds. */
export const FAST_BUCKETS = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25,
];
