/** Prints what `headgate check --redis` finds, a line for each diagnostic. */
import { levelOf } from '../doctor/redis/diagnostics.ts';
import { type ExamineOptions, examineRedis } from '../doctor/redis/examine-redis.ts';
import { say } from '../output/output.ts';

/** Resolves to whether gateways can count in this Redis. */
export async function reportOnRedis(redis: Omit<ExamineOptions, 'now'>): Promise<boolean> {
  let canCount = true;
  for await (const diagnostic of examineRedis({ ...redis, now: Date.now })) {
    if (diagnostic.severity === 'error') canCount = false;
    say(`${diagnostic.file}: ${levelOf(diagnostic)}: ${diagnostic.message}`);
  }
  return canCount;
}
