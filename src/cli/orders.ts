/** `headgate orders`: what operators ordered and is in force. */
import type { Command } from 'commander';
import type { OrderReport } from '../operations/order-report.ts';
import { askGateway, type GatewayFlags, gatewayCommand } from './gateway-client.ts';
import { columns, type OutputFlags, print, shortTime, withOutput } from './output.ts';

export function ordersCommand(): Command {
  return withOutput(gatewayCommand('orders'))
    .description('what operators ordered and is in force, the first to end first')
    .action(list);
}

async function list({ output, ...flags }: GatewayFlags & OutputFlags): Promise<void> {
  const found = await askGateway<{ orders: OrderReport[] }>(flags, { path: '/v1/orders' });
  print(output, found, () => textOf(found.orders));
}

function textOf(orders: readonly OrderReport[]): string {
  if (orders.length === 0) return 'no order is in force';
  const rows = orders.map((order) => [
    subjectOf(order),
    wordsOf(order),
    shortTime(order.until),
    order.by,
    order.reason,
  ]);
  return columns([['WHO OR WHAT', 'IS', 'UNTIL (UTC)', 'BY', 'BECAUSE'], ...rows]);
}

/** `login: shadow until 2026-11-22 01:00:00 UTC, "a bad release"` */
export function orderText(order: OrderReport): string {
  const { until, reason } = order;
  return `${subjectOf(order)}: ${wordsOf(order)} until ${shortTime(until)} UTC, ${JSON.stringify(reason)}`;
}

function subjectOf(order: OrderReport): string {
  if (order.about === 'client') return order.client;
  return order.about === 'policy' ? order.policy : 'log';
}

function wordsOf(order: OrderReport): string {
  if (order.about === 'client') return order.access;
  if (order.about === 'policy') return order.mode;
  return [order.level, order.allows_one_in && `1 in ${order.allows_one_in} allowed`]
    .filter((part) => part !== undefined)
    .join(', ');
}
