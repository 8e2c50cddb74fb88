/** Prints what `headgate check --redis` finds, a line for each finding. */
import { type ExamineOptions, examineRedis } from '../doctor/redis/examine-redis.ts';
import { say } from '../output/output.ts';

/** Resolves to whether gateways can count in this Redis. */
export async function reportOnRedis(redis: Omit<ExamineOptions, 'now'>): Promise<boolean> {
  let canCount = true;
  for await (const { place, level, text } of examineRedis({ ...redis, now: Date.now })) {
    if (level === 'fault') canCount = false;
    say(`redis ${place}: ${level}: ${text}`);
  }
  return canCount;
}
