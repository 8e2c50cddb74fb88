/** Notices that several gateways count together while HEADGATE_REPLICAS says that there is one. */

/** Beats of the heartbeat for which it must be so. A gateway that replaces another runs beside it for a while. */
const SETTLED_BEATS = 15;

export interface ReplicasWatchOptions {
  /** HEADGATE_REPLICAS */
  readonly replicas: number;
  /** Each worker of this gateway counts as a gateway. */
  readonly workers: number;
  /** The number of this worker. The first one reports for all. */
  readonly worker?: number | undefined;
  /** Called once, with the number of gateways. */
  readonly onMore: (gateways: number) => void;
}

/** Call what this returns for each heartbeat, with the number of processes that count together. */
export function watchReplicas(options: ReplicasWatchOptions): (processes: number) => void {
  const { replicas, workers, worker = 0, onMore } = options;
  let beats = 0;
  return (processes) => {
    beats = replicas === 1 && worker === 0 && processes > workers ? beats + 1 : 0;
    if (beats === SETTLED_BEATS) onMore(Math.ceil(processes / workers));
  };
}
