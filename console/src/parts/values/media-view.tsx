/** Pictures, sounds and videos that JSON holds. */
import { type ReactNode, useState } from "react";
import { bytes } from "../../text/format.ts";
import { bytesOf, fileNameOf, type Media } from "../../values/media.ts";
import { saveFile } from "../save-file.ts";
import { T } from "../../text/text.ts";

interface Item {
	path: string;
	media: Media;
}

/** Its type and size: `webp, 2.8 kB`. */
export const mediaText = ({ type, size }: Media): string => `${type.slice(type.indexOf("/") + 1)}, ${bytes(size)}`;

export function MediaView({ items }: { items: readonly Item[] }): ReactNode {
	return (
		<ul className="media">
			{items.map(({ path, media }) => (
				<li key={path}>
					{media.kind === "image" ? (
						<Picture path={path} media={media} />
					) : media.kind === "audio" ? (
						<Sound path={path} media={media} />
					) : (
						<Video path={path} media={media} />
					)}
				</li>
			))}
		</ul>
	);
}

/** `facts` next to its type and size. */
function Shown({ path, media, facts = "", children }: Item & { facts?: string; children: ReactNode }): ReactNode {
	return (
		<figure>
			{children}
			<figcaption>
				<code>{path || "output"}</code> {[facts, mediaText(media)].filter(Boolean).join(", ")}{" "}
				<button
					type="button"
					className="json-link"
					aria-label={T.media.download(path)}
					onClick={() => saveFile(fileNameOf(path, media), new Blob([bytesOf(media)], { type: media.type }))}
				>
					{T.media.save}
				</button>
			</figcaption>
		</figure>
	);
}

function Picture(item: Item): ReactNode {
	const [pixels, setPixels] = useState("");
	return (
		<Shown {...item} facts={pixels}>
			<img
				src={item.media.url}
				alt={T.media.picture(item.path)}
				loading="lazy"
				decoding="async"
				onLoad={({ currentTarget: { naturalWidth, naturalHeight } }) => setPixels(`${naturalWidth} × ${naturalHeight}`)}
			/>
		</Shown>
	);
}

function Sound(item: Item): ReactNode {
	return (
		<Shown {...item}>
			{/* oxlint-disable-next-line jsx-a11y/media-has-caption -- a job's output has no captions */}
			<audio controls preload="metadata" src={item.media.url} aria-label={T.media.sound(item.path)} />
		</Shown>
	);
}

function Video(item: Item): ReactNode {
	return (
		<Shown {...item}>
			{/* oxlint-disable-next-line jsx-a11y/media-has-caption -- a job's output has no captions */}
			<video controls preload="metadata" src={item.media.url} aria-label={T.media.video(item.path)} />
		</Shown>
	);
}
