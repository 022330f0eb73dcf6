/** Cryptographically strong. */
export type Random = (bytes: number) => Uint8Array;

const POOL_BYTES = 8192;

/** Draws large portions: a call costs far more than the bytes. */
export function pooled(random: Random): Random {
	let pool: Uint8Array = new Uint8Array(0);
	let used = 0;
	return (bytes) => {
		if (bytes > POOL_BYTES / 8) return random(bytes);
		if (used + bytes > pool.length) {
			pool = random(POOL_BYTES);
			used = 0;
		}
		used += bytes;
		return pool.subarray(used - bytes, used);
	};
}

export function hex(bytes: Uint8Array): string {
	return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("hex");
}

const POOL_DIGITS = 8192;

/** Ids of hex digits for what needs one at each call: a conversion of many bytes costs little more than one of few. */
export function hexIds(random: Random): (digits: number) => string {
	let pool = "";
	let used = 0;
	return (digits) => {
		if (used + digits > pool.length) {
			pool = hex(random(POOL_DIGITS / 2));
			used = 0;
		}
		used += digits;
		return pool.slice(used - digits, used);
	};
}

const DIGITS = Buffer.from("0123456789abcdef");

/** Offsets of a UUID's 16 bytes in its text. */
const OFFSETS = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34] as const;

/** Reused: the result is one flat string, not a rope. */
const text = Buffer.alloc(36, "-");

/** 48 bits of milliseconds, then randomness (D6). */
export function uuidv7(now: number, random: Random): string {
	const ms = Math.floor(now);
	const high = Math.floor(ms / 2 ** 32);
	const bytes = random(10);
	bytes[0] = (bytes[0]! & 0x0f) | 0x70;
	bytes[2] = (bytes[2]! & 0x3f) | 0x80;
	for (let at = 0; at < OFFSETS.length; at += 1) {
		const byte = at < 2 ? high >>> (8 - 8 * at) : at < 6 ? ms >>> (40 - 8 * at) : bytes[at - 6]!;
		const place = OFFSETS[at]!;
		text[place] = DIGITS[(byte >>> 4) & 0x0f]!;
		text[place + 1] = DIGITS[byte & 0x0f]!;
	}
	return text.toString("latin1");
}
