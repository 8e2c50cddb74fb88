/** `npm test` is the short form of the tests: fewer rounds of random inputs, and one version of each proxy. */
export const isShort = process.env.TEST_FORM === 'short';

/** How many rounds of random inputs a test plays. */
export const rounds = (whole: number) => (isShort ? Math.ceil(whole / 10) : whole);
