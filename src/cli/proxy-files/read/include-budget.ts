/** Reads the files that a file includes, until they are too many or too large. */
import { ConfigError } from '../../../gateway/config/config-error.ts';
import { type FilePlace, lineText } from '../file-place.ts';
import { type DoctorFinding, found } from './catalog.ts';
import type { IncludedText, ProxyFiles } from './proxy-files.ts';

/** How often files may be included, counting repetitions, and how large all of that may be. */
const MAX_INCLUDES = 4_000;
const MAX_CHARACTERS = 16 * 1024 * 1024;
const MAX_DEPTH = 20;

export interface Include {
  readonly path: string;
  /** Where relative paths begin. Default: the folder of the main file. */
  readonly folder?: string;
  readonly place: FilePlace;
  /** The paths of the files that lead here. */
  readonly open: readonly string[];
}

export interface IncludeProblem {
  /** As the line names it. */
  readonly path: string;
  readonly place: FilePlace;
  readonly problem: string;
  /** Otherwise the includes are refused, because they have no end or are too many. */
  readonly isUnreadable: boolean;
}

export class IncludeBudget {
  readonly #files: ProxyFiles;
  readonly #problems = new Map<string, IncludeProblem>();
  #includes = 0;
  #characters = 0;
  #isSpent = false;

  constructor(files: ProxyFiles) {
    this.#files = files;
  }

  get problems(): readonly IncludeProblem[] {
    return [...this.#problems.values()];
  }

  /** Without the files that cannot be read. */
  read(include: Include): readonly IncludedText[] {
    const { path, folder, open } = include;
    if (path === '' || this.#isSpent) return [];
    if (open.length >= MAX_DEPTH) {
      this.#refuse(include, `${path} is not read: includes are nested deeper than ${MAX_DEPTH}`);
      return [];
    }
    return this.#files.paths(path, folder).flatMap((each) => this.#file(each, include));
  }

  #file(path: string, include: Include): readonly IncludedText[] {
    if (this.#isSpent) return [];
    try {
      const file = this.#files.read(path);
      if (include.open.includes(path)) {
        const how = 'includes itself, directly or through other files: remove this line';
        this.#refuse(include, `${file.name} ${how}`);
        return [];
      }
      this.#includes++;
      this.#characters += file.text.length;
      this.#isSpent = this.#includes > MAX_INCLUDES || this.#characters > MAX_CHARACTERS;
      if (!this.#isSpent) return [file];
      const bounds = `${MAX_INCLUDES} files are included, or ${MAX_CHARACTERS} characters`;
      this.#refuse(include, `${include.path} and the rest are not read: more than ${bounds}`);
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      this.#refuse(include, error.mistakes.join('; '), true);
    }
    return [];
  }

  /** Each problem of a place once: a file may be included in many places. */
  #refuse({ path, place }: Include, problem: string, isUnreadable = false): void {
    this.#problems.set(`${lineText(place)} ${problem}`, { path, place, problem, isUnreadable });
  }
}

export function includeFindings(problems: readonly IncludeProblem[]): DoctorFinding[] {
  return problems.map(({ place, problem }) =>
    found('unreadable-include', lineText(place), problem),
  );
}
