/** Pictures, sounds and videos that JSON holds. */
import { useState } from "react";
import type { ReactNode } from "react";
import { bytes } from "../format.ts";
import type { Media } from "../media.ts";
import { T } from "../text.ts";

export function MediaView({
	items,
}: {
	items: readonly { path: string; media: Media }[];
}): ReactNode {
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

function Picture({ path, media: { url, type, size } }: { path: string; media: Media }): ReactNode {
	const [pixels, setPixels] = useState("");
	return (
		<figure>
			<img
				src={url}
				alt={T.media.picture(path)}
				loading="lazy"
				decoding="async"
				onLoad={({ currentTarget: { naturalWidth, naturalHeight } }) =>
					setPixels(`${naturalWidth} × ${naturalHeight}`)
				}
			/>
			<figcaption>
				<code>{path || "output"}</code>{" "}
				{[pixels, type.slice(6), bytes(size)].filter(Boolean).join(", ")}
			</figcaption>
		</figure>
	);
}

function Sound({ path, media: { url, type, size } }: { path: string; media: Media }): ReactNode {
	return (
		<figure>
			{/* oxlint-disable-next-line jsx-a11y/media-has-caption -- a job's output has no captions */}
			<audio controls preload="metadata" src={url} aria-label={T.media.sound(path)} />
			<figcaption>
				<code>{path || "output"}</code> {type.slice(6)}, {bytes(size)}
			</figcaption>
		</figure>
	);
}

function Video({ path, media: { url, type, size } }: { path: string; media: Media }): ReactNode {
	return (
		<figure>
			{/* oxlint-disable-next-line jsx-a11y/media-has-caption -- a job's output has no captions */}
			<video controls preload="metadata" src={url} aria-label={T.media.video(path)} />
			<figcaption>
				<code>{path || "output"}</code> {type.slice(6)}, {bytes(size)}
			</figcaption>
		</figure>
	);
}
