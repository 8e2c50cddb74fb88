/** Makes a PNG of a page small: at most 256 colors, which is enough for text and charts, and the best compression. */
import { crc32, deflateSync, inflateSync } from 'node:zlib';

const SIGNATURE = Buffer.from([137, 80, 78, 71, 13, 10, 26, 10]);
const MOST_COLORS = 256;
interface Pixels {
  readonly width: number;
  readonly height: number;
  /** Red, green, blue of each pixel, row by row. */
  readonly bytes: Buffer;
}

/** Takes a PNG of 8-bit RGB or RGBA pixels that is not interlaced. Its transparency is lost. */
export function smallPng(png: Buffer): Buffer {
  const { width, height, bytes } = pixelsOf(png);
  const { palette, indexes } = reduced(bytes);
  const rows = Buffer.alloc((width + 1) * height);
  for (let y = 0; y < height; y++) {
    indexes.copy(rows, y * (width + 1) + 1, y * width, (y + 1) * width);
  }
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  // 8 bits for each pixel, which is an index into the palette.
  header.set([8, 3, 0, 0, 0], 8);
  return Buffer.concat([
    SIGNATURE,
    chunk('IHDR', header),
    chunk('PLTE', palette),
    chunk('IDAT', deflateSync(rows, { level: 9, memLevel: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

/** Keeps the colors that most pixels have; the others become the nearest of them. */
function reduced(bytes: Buffer) {
  const colors = Array.from({ length: bytes.length / 3 }, (_, i) => bytes.readUIntBE(3 * i, 3));
  const counts = new Map<number, number>();
  for (const color of colors) counts.set(color, (counts.get(color) ?? 0) + 1);
  const byCount = [...counts].sort((a, b) => b[1] - a[1]).map(([color]) => color);
  const kept = byCount
    .slice(0, MOST_COLORS)
    .map((color, index) => ({ ...channelsOf(color), index }));
  const indexOf = new Map(byCount.map((color) => [color, nearest(channelsOf(color), kept).index]));
  return {
    palette: Buffer.from(kept.flatMap(({ red, green, blue }) => [red, green, blue])),
    indexes: Buffer.from(colors.map((color) => indexOf.get(color) ?? 0)),
  };
}

interface Color {
  readonly red: number;
  readonly green: number;
  readonly blue: number;
}

function channelsOf(color: number): Color {
  return { red: color >> 16, green: (color >> 8) & 255, blue: color & 255 };
}

function nearest<C extends Color>(color: Color, candidates: readonly C[]): C {
  const distance = ({ red, green, blue }: Color) =>
    (red - color.red) ** 2 + (green - color.green) ** 2 + (blue - color.blue) ** 2;
  return candidates.reduce((best, each) => (distance(each) < distance(best) ? each : best));
}

function pixelsOf(png: Buffer): Pixels {
  const [width, height] = [png.readUInt32BE(16), png.readUInt32BE(20)];
  const channels = png[25] === 6 ? 4 : 3;
  const packed: Buffer[] = [];
  for (let at = 8; at < png.length; ) {
    const length = png.readUInt32BE(at);
    if (png.toString('latin1', at + 4, at + 8) === 'IDAT')
      packed.push(png.subarray(at + 8, at + 8 + length));
    at += 12 + length;
  }
  const rows = inflateSync(Buffer.concat(packed));
  const stride = width * channels;
  const bytes = Buffer.alloc(width * height * 3);
  let above = Buffer.alloc(stride);
  for (let y = 0; y < height; y++) {
    const start = y * (stride + 1);
    const row = rows.subarray(start + 1, start + 1 + stride);
    unfilter(row, above, { filter: rows[start] ?? 0, channels });
    for (let x = 0; x < width; x++)
      row.copy(bytes, (y * width + x) * 3, x * channels, x * channels + 3);
    above = row;
  }
  return { width, height, bytes };
}

/** PNG specification, section 9. */
function unfilter(
  row: Buffer,
  above: Buffer,
  { filter, channels }: { readonly filter: number; readonly channels: number },
): void {
  for (let i = 0; i < row.length; i++) {
    const left = row[i - channels] ?? 0;
    const up = above[i] ?? 0;
    const upLeft = above[i - channels] ?? 0;
    const predicted = [0, left, up, (left + up) >> 1, paeth(left, up, upLeft)][filter] ?? 0;
    row[i] = ((row[i] ?? 0) + predicted) & 255;
  }
}

function paeth(left: number, up: number, upLeft: number): number {
  const estimate = left + up - upLeft;
  const [toLeft, toUp, toUpLeft] = [left, up, upLeft].map((each) => Math.abs(estimate - each)) as [
    number,
    number,
    number,
  ];
  if (toLeft <= toUp && toLeft <= toUpLeft) return left;
  return toUp <= toUpLeft ? up : upLeft;
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const framed = Buffer.alloc(body.length + 8);
  framed.writeUInt32BE(data.length, 0);
  body.copy(framed, 4);
  framed.writeUInt32BE(crc32(body), body.length + 4);
  return framed;
}
