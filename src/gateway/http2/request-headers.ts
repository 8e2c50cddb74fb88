/** It has no prototype. */
export type RequestHeaders = Readonly<Record<string, string | string[] | undefined>>;
