/** What every store of keys does. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { KeyStore } from '../../src/gateway/keys/key-store.ts';
import { digestOf, keyRecord } from '../support/keys.ts';

/** `open`: an empty store. */
export function describeKeyStore(open: () => Promise<KeyStore>, runs = 100): void {
  test('finds what was put, and nothing else', async () => {
    const store = await open();
    const records = [
      keyRecord('acme', { plan: 'pro', comment: 'Ürümqi "quoted"', endsMs: 1_795_725_909_000 }),
      keyRecord('acme', { key: 'second', isBlocked: true, plan: undefined }),
      keyRecord('日本 🙂'),
    ];
    expect(await store.find([digestOf('acme')])).toEqual([undefined]);
    await store.put(records);
    const digests = [digestOf('nobody'), ...records.map(({ digest }) => digest)];
    expect(await store.find(digests)).toEqual([undefined, ...records]);
    const found = new Map<string, unknown>();
    for (const group of store.groupsOf(digests)) {
      const answers = await store.lookUp(group);
      for (const [i, digest] of group.entries()) found.set(digest, answers[i]);
    }
    expect(digests.map((digest) => found.get(digest))).toEqual([undefined, ...records]);
    expect(await store.find([])).toEqual([]);
  });

  test('puts a record in place of that of the same key, also if it moves to another id', async () => {
    const store = await open();
    const [before, after] = [keyRecord('acme'), keyRecord('beta', { key: 'acme', plan: 'pro' })];
    await store.put([before]);
    await store.put([{ ...before, plan: 'pro' }]);
    expect(await store.entries({ count: 9 })).toEqual([{ id: 'acme', digest: before.digest }]);
    await store.put([after]);
    expect(await store.find([before.digest])).toEqual([after]);
    expect(await store.entries({ count: 9 })).toEqual([{ id: 'beta', digest: after.digest }]);
  });

  test('replaces what is there, and brings nothing back that was removed', async () => {
    const store = await open();
    const [acme, beta] = [keyRecord('acme'), keyRecord('beta')];
    await store.put([acme]);
    const changed = [acme, beta].map((record) => ({ ...record, plan: 'pro' }));
    expect(await store.replace(changed)).toEqual([changed[0]]);
    expect(await store.find([acme.digest, beta.digest])).toEqual([changed[0], undefined]);
    expect(await store.entries({ count: 9 })).toHaveLength(1);
  });

  test('removes keys with their entries, and says how many there were', async () => {
    const store = await open();
    const records = ['acme', 'beta', 'gamma'].map((id) => keyRecord(id));
    await store.put(records);
    const [acme, beta] = records.map(({ id, digest }) => ({ id, digest }));
    const nobody = { id: 'nobody', digest: digestOf('nobody') };
    expect(await store.remove([acme, beta, nobody] as never)).toBe(2);
    expect(await store.remove([acme, beta, nobody] as never)).toBe(0);
    expect(await store.find(records.map(({ digest }) => digest))).toEqual([
      undefined,
      undefined,
      records[2],
    ]);
    expect(await store.entries({ count: 9 })).toEqual([{ id: 'gamma', digest: digestOf('gamma') }]);
  });

  test('pages through entries in the order of the bytes of their ids, each once', async () => {
    const store = await open();
    const ids = ['', '-', '[', '(', '+', 'a', 'a\x20', 'ab', 'ä', 'b', '\uffee', '🙂'];
    const records = ids.flatMap((id) =>
      ['1', '2', '3'].map((key) => keyRecord(`x${id}`, { key: id + key })),
    );
    await store.put(records);
    const expected = records
      .map(({ id, digest }) => ({ id, digest }))
      .sort(
        (a, b) =>
          Buffer.compare(Buffer.from(a.id), Buffer.from(b.id)) || (a.digest < b.digest ? -1 : 1),
      );
    for (const count of [1, 2, 5, 100]) {
      const paged = [];
      let page = await store.entries({ count });
      for (; page.length > 0; page = await store.entries({ count, after: page.at(-1) })) {
        expect(page.length).toBeLessThanOrEqual(count);
        paged.push(...page);
      }
      expect(paged).toEqual(expected);
    }
    const ofId = (id: string) => store.entries({ id, count: 100 });
    expect((await ofId('xa')).map(({ id }) => id)).toEqual(['xa', 'xa', 'xa']);
    expect(await ofId('xnobody')).toEqual([]);
    expect(await ofId('')).toEqual([]);
    const [first, second] = await ofId('xa');
    expect(await store.entries({ id: 'xa', after: first, count: 1 })).toEqual([second]);
  });

  test('has after any changes what a map of them has', async () => {
    const key = fc.constantFrom('k1', 'k2', 'k3', 'k4');
    const id = fc.constantFrom('acme', 'beta');
    const step = fc.record({
      act: fc.constantFrom('put', 'replace', 'remove'),
      records: fc.uniqueArray(fc.record({ key, id, plan: fc.constantFrom('free', 'pro') }), {
        minLength: 1,
        maxLength: 3,
        selector: (each) => each.key,
      }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 8 }), async (steps) => {
        const store = await open();
        const model = new Map<string, unknown>();
        for (const { act, records } of steps) {
          const given = records.map(({ id: ofId, ...more }) => keyRecord(ofId, more));
          if (act === 'put') await store.put(given);
          else if (act === 'replace') {
            // What operators replace they have read, so it has the id of its entry.
            const same = given.filter(({ digest, id: ofId }) => {
              const kept = model.get(digest) as { id: string } | undefined;
              return kept === undefined || kept.id === ofId;
            });
            await store.replace(same);
            for (const each of same) if (model.has(each.digest)) model.set(each.digest, each);
            continue;
          } else await store.remove(given);
          for (const each of given)
            if (act === 'put') model.set(each.digest, each);
            else model.delete(each.digest);
        }
        const digests = ['k1', 'k2', 'k3', 'k4'].map(digestOf);
        expect(await store.find(digests)).toEqual(digests.map((each) => model.get(each)));
        const entries = await store.entries({ count: 100 });
        expect(new Set(entries.map(({ digest }) => digest))).toEqual(new Set(model.keys()));
        expect(entries).toHaveLength(model.size);
      }),
      { numRuns: runs },
    );
  });
}
