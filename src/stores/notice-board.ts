/** Short texts that all gateways read, each until a moment: a board of this process, and what one has to promise. */

export interface Notice {
  /** Of two notices about the same, the later one stays. */
  readonly about: string;
  /** From then on it is not there any more, milliseconds since the epoch by the clock of this process. */
  readonly untilMs: number;
  /** Empty for one that was taken down. It stays until it would have ended: what was lost was not taken down. */
  readonly text: string;
}

/** All of it rejects when the board cannot be reached. */
export interface NoticeBoard {
  read(): Promise<readonly Notice[]>;
  /** Rejects with a BoardFull when there are too many. */
  putUp(notice: Notice): Promise<void>;
  /** Of what the board has lost; what is there about the same stays, and so does what was taken down. */
  putBack(notices: readonly Notice[]): Promise<void>;
  /** Resolves to false when there was none. */
  takeDown(about: string): Promise<boolean>;
}

/** What each gateway reads again whenever one of them changes: a few hundred kilobytes at most. */
export const MAX_NOTICES = 1_000;

export class BoardFull extends Error {
  override readonly name = 'BoardFull';
  readonly code = 'HEADGATE_BOARD_FULL';

  constructor() {
    super(`there are ${MAX_NOTICES} already`);
  }
}

/** For one gateway without Redis. It does not survive the process. */
export class OwnNoticeBoard implements NoticeBoard {
  readonly #now: () => number;
  readonly #notices = new Map<string, Notice>();

  constructor(now: () => number) {
    this.#now = now;
  }

  async read(): Promise<readonly Notice[]> {
    return this.#inForce();
  }

  async putUp(notice: Notice): Promise<void> {
    const others = this.#inForce().filter(
      ({ about, text }) => about !== notice.about && text !== '',
    );
    if (others.length >= MAX_NOTICES) throw new BoardFull();
    this.#notices.set(notice.about, notice);
  }

  async putBack(notices: readonly Notice[]): Promise<void> {
    for (const notice of notices) {
      if (!this.#notices.has(notice.about)) this.#notices.set(notice.about, notice);
    }
  }

  async takeDown(about: string): Promise<boolean> {
    const known = this.#inForce().find((each) => each.about === about && each.text !== '');
    if (known !== undefined) this.#notices.set(about, { ...known, text: '' });
    return known !== undefined;
  }

  #inForce(): Notice[] {
    for (const [about, { untilMs }] of this.#notices) {
      if (untilMs <= this.#now()) this.#notices.delete(about);
    }
    return [...this.#notices.values()];
  }
}
