/** What is opened is closed, whatever fails. */
import { expect, test, vi } from 'vitest';
import { OpenResources } from '../../../../src/gateway/app/open-resources.ts';

test('the latest is closed first, and each only once', async () => {
  const resources = new OpenResources();
  const closed: string[] = [];
  const names = ['store', 'servers', 'ports'];
  for (const name of names) expect(resources.add(name, (each) => closed.push(each))).toBe(name);
  await Promise.all([resources.close(), resources.close()]);
  expect(closed).toEqual(['ports', 'servers', 'store']);
});

test('one that cannot be closed keeps no other one open', async () => {
  const resources = new OpenResources();
  const close = vi.fn();
  resources.add('store', close);
  resources.add('servers', async () => Promise.reject(new Error('not closed')));
  await expect(resources.close()).rejects.toThrow('not closed');
  expect(close).toHaveBeenCalledOnce();
});

test('what is opened after that is closed at once, and waited for', async () => {
  const resources = new OpenResources();
  await resources.close();
  const close = vi.fn();
  resources.add('ports', close);
  await resources.close();
  expect(close).toHaveBeenCalledOnce();
});
