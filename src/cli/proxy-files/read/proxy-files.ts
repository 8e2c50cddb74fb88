/** The files of a proxy with those that they include: on this machine, or in what `nginx -T` has printed. */
import { dirname, posix, resolve } from 'node:path';
import { ConfigError } from '../../../gateway/config/config-error.ts';
import type { Diagnostic } from '../../../gateway/config/diagnostic.ts';
import { filesMatching, fitsPath, isPattern } from '../../../gateway/config/file-pattern.ts';
import { displayName, readText } from '../../../gateway/config/text-file.ts';
import { found } from './catalog.ts';

export interface ProxyText {
  readonly name: string;
  readonly text: string;
}

export interface IncludedText extends ProxyText {
  readonly path: string;
}

export interface ProxyFiles {
  readonly main: ProxyText;
  /** The paths of all files, the main one first, if `nginx -T` has printed them. */
  readonly dumped?: readonly string[];
  /**
   * The texts of the files that an include names, sorted by path if it is a pattern. `folder` is where relative paths
   * begin; undefined: the folder of the main file. Throws a ConfigError if a file cannot be read.
   */
  included(path: string, folder?: string): readonly IncludedText[];
}

/** `path`: where relative includes begin, unless the text is the output of `nginx -T`. */
export function filesOf(path: string, text: string): ProxyFiles {
  return filesOfDump(text) ?? filesOnDisk(path, text);
}

/** `path` is where relative includes begin, even if the text came from elsewhere. */
export function filesOnDisk(path: string, text: string): ProxyFiles {
  const home = dirname(resolve(path));
  return {
    main: { name: displayName(path), text },
    included(named, folder = home) {
      const wanted = resolve(folder, named);
      const paths = isPattern(named) ? filesMatching(wanted) : [wanted];
      return paths.map((each) => ({ path: each, name: displayName(each), text: readText(each) }));
    },
  };
}

/** The line that `nginx -T` prints before each file. */
const FILE_IN_DUMP = /^# configuration file (.+):$/gm;

/** Undefined if the text is not the output of `nginx -T`. */
function filesOfDump(text: string): ProxyFiles | undefined {
  const starts = [...text.matchAll(FILE_IN_DUMP)];
  const files = new Map<string, string>();
  for (const [i, start] of starts.entries()) {
    const body = text.slice(start.index + start[0].length + 1, starts[i + 1]?.index);
    files.set(start[1] ?? '', files.get(start[1] ?? '') ?? body);
  }
  const [first] = files;
  if (first === undefined) return undefined;
  const [path, main] = first;
  return {
    main: { name: path, text: main },
    dumped: [...files.keys()],
    included(named, folder = posix.dirname(path)) {
      const wanted = posix.resolve(folder, named);
      const all = isPattern(named)
        ? [...files.keys()].filter((each) => fitsPath(wanted, each)).sort()
        : [wanted];
      // NGINX has read every file that it needs, so a missing one was empty or is not included.
      return all.map((each) => ({ path: each, name: each, text: files.get(each) ?? '' }));
    },
  };
}

/** How often files may be included, counting repetitions, and how large all of that may be. */
const MAX_INCLUDES = 4_000;
const MAX_CHARACTERS = 16 * 1024 * 1024;
/** Beyond this, files include each other. */
const MAX_DEPTH = 20;

export interface Include {
  readonly path: string;
  /** Where relative paths begin. Undefined: the folder of the main file. */
  readonly folder?: string;
  readonly place: string;
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
