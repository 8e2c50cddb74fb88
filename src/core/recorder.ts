/** Writes down why a request is decided as it is, for whoever asks. Ordinary requests have none, and pay nothing for it. */
export type Recorder = (about: Subject, what: string) => void;

/** The steps of a decision, in their order. */
export type Subject = 'proxy' | 'address' | 'identity' | 'path' | 'policy' | 'limit';
