/** One second of silence as WAV: 8000 samples of 8 bits. */
export function silence(): Buffer {
	const wav = Buffer.alloc(44 + 8000, 0x80);
	wav.write("RIFF", 0);
	wav.writeUInt32LE(36 + 8000, 4);
	wav.write("WAVEfmt ", 8);
	wav.writeUInt32LE(16, 16);
	// PCM, one channel.
	wav.writeUInt16LE(1, 20);
	wav.writeUInt16LE(1, 22);
	// Samples and bytes a second, bytes and bits of a sample.
	wav.writeUInt32LE(8000, 24);
	wav.writeUInt32LE(8000, 28);
	wav.writeUInt16LE(1, 32);
	wav.writeUInt16LE(8, 34);
	wav.write("data", 36);
	wav.writeUInt32LE(8000, 40);
	return wav;
}
