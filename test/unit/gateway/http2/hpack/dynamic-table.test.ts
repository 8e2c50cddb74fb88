/** What the dynamic table keeps: RFC 7541, section 4. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { DynamicTable } from '../../../../../src/gateway/http2/hpack/dynamic-table.ts';

type Field = readonly [name: string, value: string];

function fieldsOf(table: DynamicTable): Field[] {
  return Array.from({ length: table.length }, (_, i) => [table.name(i), table.value(i)]);
}

test('the newest entry comes first', () => {
  const table = new DynamicTable(4_096, 4_096);
  table.add('a', '1');
  table.add('b', '2');
  expect(fieldsOf(table)).toEqual([
    ['b', '2'],
    ['a', '1'],
  ]);
});

test('an entry counts its name, its value and 32 bytes', () => {
  const table = new DynamicTable(2 * (32 + 5), 4_096);
  table.add('abc', '12');
  table.add('abc', '34');
  expect(table.length).toBe(2);
  table.add('', '');
  expect(fieldsOf(table)).toEqual([
    ['', ''],
    ['abc', '34'],
  ]);
});

test('an entry as large as the table is kept, and a larger one empties it', () => {
  const table = new DynamicTable(64, 4_096);
  table.add('a', 'x'.repeat(31));
  expect(table.length).toBe(1);
  table.add('a', 'x'.repeat(32));
  expect(table.length).toBe(0);
  table.add('b', '');
  expect(fieldsOf(table)).toEqual([['b', '']]);
});

test('a table of 0 bytes keeps nothing, and one of 31 neither', () => {
  for (const bytes of [0, 31]) {
    const table = new DynamicTable(bytes, bytes);
    table.add('', '');
    expect(table.length).toBe(0);
  }
});

test('a smaller size drops the oldest entries, and a larger one drops none', () => {
  const table = new DynamicTable(4_096, 8_192);
  for (const name of ['a', 'b', 'c']) table.add(name, '');
  table.resize(8_192);
  expect(table.length).toBe(3);
  table.resize(67);
  expect(fieldsOf(table)).toEqual([
    ['c', ''],
    ['b', ''],
  ]);
  table.resize(0);
  expect(table.length).toBe(0);
});

test('a table can be full of empty entries', () => {
  for (const bytes of [32, 64, 95, 96, 4_096, 65_536]) {
    const table = new DynamicTable(bytes, bytes);
    const fits = Math.floor(bytes / 32);
    for (let i = 0; i < 3 * fits; i++) table.add('', '');
    expect(table.length).toBe(fits);
  }
});

test('it has what a plain list of entries would have', () => {
  const text = fc.string({ unit: 'binary-ascii', maxLength: 60 });
  const step = fc.oneof(
    { arbitrary: fc.tuple(text, text), weight: 5 },
    { arbitrary: fc.nat(300), weight: 1 },
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const table = new DynamicTable(150, 300);
      let model: Field[] = [];
      let limit = 150;
      for (const each of steps) {
        if (typeof each === 'number') {
          table.resize(each);
          limit = each;
        } else {
          table.add(...each);
          model.unshift(each);
        }
        model = fitting(model, limit);
        expect(fieldsOf(table)).toEqual(model);
      }
    }),
  );
});

/** The newest entries, as many as fit one after the other. */
function fitting(entries: readonly Field[], limit: number): Field[] {
  let bytes = 0;
  const end = entries.findIndex(([name, value]) => {
    bytes += name.length + value.length + 32;
    return bytes > limit;
  });
  return entries.slice(0, end === -1 ? entries.length : end);
}
