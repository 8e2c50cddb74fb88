/** Reads the files that a file includes, until they are too many or too large. */
import { ConfigError } from '../../../gateway/config/config-error.ts';
import type { Diagnostic } from '../../../gateway/config/diagnostic.ts';
import { found } from './catalog.ts';
import type { IncludedText, ProxyFiles } from './proxy-files.ts';

/** How often files may be included, counting repetitions, and how large all of that may be. */
const MAX_INCLUDES = 4_000;
const MAX_CHARACTERS = 16 * 1024 * 1024;
/** Beyond this, files include each other. */
const MAX_DEPTH = 20;

export interface Include {
  readonly path: string;
  /** Where relative paths begin. Undefined: the folder of the main file. */
  readonly folder?: string;
  /** `nginx.conf:12` */
  readonly place: string;
  /** How many includes lead here. */
  readonly depth: number;
}

export class IncludeBudget {
  readonly findings: Diagnostic[] = [];
  readonly #files: ProxyFiles;
  #includes = 0;
  #characters = 0;

  constructor(files: ProxyFiles) {
    this.#files = files;
  }

  /** Empty, with a finding, if they cannot be read. */
  read({ path, folder, place, depth }: Include): readonly IncludedText[] {
    if (path === '' || this.#isSpent()) return [];
    this.#includes++;
    if (depth >= MAX_DEPTH)
      return this.#refuse(place, `${path} is not read: ${MAX_DEPTH} files include each other`);
    try {
      const files = this.#files.included(path, folder);
      for (const { text } of files) {
        this.#includes++;
        this.#characters += text.length;
      }
      return this.#isSpent()
        ? this.#refuse(place, `${path} and the rest are not read: they are too many, or too large`)
        : files;
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      return this.#refuse(place, error.mistakes.join('; '));
    }
  }

  #isSpent(): boolean {
    return this.#includes > MAX_INCLUDES || this.#characters > MAX_CHARACTERS;
  }

  #refuse(place: string, problem: string): [] {
    if (!this.findings.some((each) => each.file === place && each.message === problem))
      this.findings.push(found('unreadable-include', place, problem));
    return [];
  }
}
