/** Opens files: the sweep at the start, the rest with the first call or the first use by another module. */
import type { Kernel, OpenModule } from "../../kernel/module.ts";
import { confirmNoBucket } from "./bucket/place.ts";
import type { FileContents } from "./contents/contents.ts";
import type { FileHandlers } from "./handlers.ts";
import type { Lent } from "./lent.ts";
import { FILE_ROUTES } from "./routes.ts";
import type { FilesSettings } from "./settings.ts";
import { sweep } from "./sweep.ts";

/** Throws an Error with a sentence if files are in another place than the settings say. */
export async function openFiles(kernel: Kernel, settings: FilesSettings): Promise<OpenModule> {
	let own: Promise<FileContents> | undefined;
	const ownPlace = (): Promise<FileContents> => (own ??= openContents(kernel));
	const bucket =
		settings.bucket && (await (await import("./bucket/open.ts")).openInBucket(kernel, settings.bucket, ownPlace));
	if (!bucket) await confirmNoBucket(kernel);
	let handlers: Promise<FileHandlers> | undefined;
	let lent: Promise<Lent> | undefined;
	const opened = async (): Promise<FileContents> => bucket?.contents ?? (await ownPlace());

	async function made(): Promise<FileHandlers> {
		const [{ fileHandlers }, { createFiles }] = await Promise.all([import("./handlers.ts"), import("./files.ts")]);
		const contents = await opened();
		const files = createFiles({ kernel, contents, settings });
		return fileHandlers({ files, contents, calendar: kernel.calendar });
	}

	const lend = (): Promise<Lent> =>
		(lent ??= Promise.all([import("./lent.ts"), opened()]).then(([{ lentFiles }, contents]) =>
			lentFiles({ kernel, contents }),
		));

	const late = FILE_ROUTES.map(({ name }) => {
		const handle = async (call: never): Promise<unknown> =>
			await ((await (handlers ??= made()))[name] as (call: never) => unknown)(call);
		return [name, handle] as const;
	});
	return {
		handlers: Object.fromEntries(late),
		hooks: {
			files: {
				find: async (...q) => await (await lend()).find(...q),
				open: async (...q) => await (await lend()).open(...q),
				write: async (...q) => await (await lend()).write(...q),
				remove: async (...q) => await (await lend()).remove(...q),
				memory: async (...q) => await (await lend()).memory(...q),
				bounds: settings,
			},
		},
		services: [sweep(kernel, opened)],
		...(bucket && { close: bucket.close }),
		families: async () => (await import("./families.ts")).fileFamilies(kernel),
	};
}

/** The store has either a folder or rows for them. */
async function openContents({ store, clock, now }: Kernel): Promise<FileContents> {
	const { pieces, filesFolder, files } = store;
	if (pieces) return (await import("./contents/rows.ts")).rowContents(pieces, now);
	return (await import("./contents/folder.ts")).folderContents(filesFolder!, files, clock);
}
