/** `headgate check --redis`: whether gateways can count in Redis, a line for each finding. */
import { type ExamineOptions, examineRedis } from '../../doctor/examine.ts';
import { say } from './output.ts';

/** Resolves to whether they can. */
export async function reportOnRedis(redis: Omit<ExamineOptions, 'now'>): Promise<boolean> {
  let canCount = true;
  for await (const { place, level, text } of examineRedis({ ...redis, now: Date.now })) {
    if (level === 'fault') canCount = false;
    say(`redis ${place}: ${level}: ${text}`);
  }
  return canCount;
}
