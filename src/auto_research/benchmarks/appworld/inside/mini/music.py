"""Tasks with songs: superlatives, likes, a note of titles, a playlist."""

from __future__ import annotations

from random import Random

from auto_research.benchmarks.appworld.inside.mini import words
from auto_research.benchmarks.appworld.inside.mini.draft import Change, Draft, Family, program
from auto_research.benchmarks.appworld.inside.mini.plan import Person, Song, World

LIBRARY = """
def library_songs(token):
    rows = every(apis.spotify.show_song_library, access_token=token)
    return [apis.spotify.show_song(song_id=row["song_id"]) for row in rows]


token = sign_in("spotify")
songs = library_songs(token)
"""


def superlative(world: World, person: Person, rng: Random) -> Draft:
    """The title of the longest, shortest or most played song."""
    word, key, most = rng.choice(
        (("longest", "duration", 1), ("shortest", "duration", -1), ("most played", "play_count", 1))
    )

    def rank(song: Song) -> int:
        return most * (song.duration if key == "duration" else song.plays)

    return Draft(
        f"What is the title of the {word} song in my Spotify song library?",
        program(
            LIBRARY + "best = max(songs, key=lambda song: $most * song[$key])\n"
            'apis.supervisor.complete_task(answer=best["title"])\n',
            most=most,
            key=key,
        ),
        answer=max(person.library, key=rank).title,
    )


def genre_note(world: World, person: Person, rng: Random) -> Draft:
    """A note with the titles of a genre, and how many there are."""
    genre = rng.choice(sorted({song.genre for song in person.library}))
    title = f"My {genre} songs"
    titles = [song.title for song in person.library if song.genre == genre]
    return Draft(
        f"Make a Simple Note titled '{title}' that lists the titles of all {genre} songs of my "
        "Spotify song library, one per line. Then tell me how many there are.",
        program(
            LIBRARY + 'titles = [song["title"] for song in songs if song["genre"] == $genre]\n'
            "apis.simple_note.create_note(\n"
            '    title=$title, content="\\n".join(titles), access_token=sign_in("simple_note")\n'
            ")\n"
            "apis.supervisor.complete_task(answer=len(titles))\n",
            genre=genre,
            title=title,
        ),
        answer=len(titles),
        changes=(
            Change(
                "simple_note.Note",
                "added",
                [{"title": title, "content:lines": titles, "user.email": person.email}],
            ),
        ),
    )


def like_artist(world: World, person: Person, rng: Random) -> Draft | None:
    """Like all songs of an artist in the library that are not liked yet."""
    waiting = [song for song in person.library if song not in person.liked]
    if not waiting:
        return None
    artist = rng.choice(sorted({song.artist for song in waiting}))
    wanted = [song.title for song in waiting if song.artist == artist]
    return Draft(
        f"Like all the songs by {artist} in my Spotify song library that I have not liked yet.",
        program(
            LIBRARY + "liked = every(apis.spotify.show_liked_songs, access_token=token)\n"
            'known = {row["song_id"] for row in liked}\n'
            "for song in songs:\n"
            '    by = [artist["name"] for artist in song["artists"]]\n'
            '    if $artist in by and song["song_id"] not in known:\n'
            '        apis.spotify.like_song(song_id=song["song_id"], access_token=token)\n'
            "apis.supervisor.complete_task()\n",
            artist=artist,
        ),
        changes=(
            Change(
                "spotify.SongLike",
                "added",
                [{"song.title": title, "user.email": person.email} for title in wanted],
            ),
        ),
        side_effects=("spotify.Song",),
    )


def playlist(world: World, person: Person, rng: Random) -> Draft | None:
    """A playlist of the library's songs of some genres from a year on."""
    year = rng.randrange(2012, 2018)
    one, two = rng.sample(words.GENRES, 2)
    wanted = [s for s in person.library if s.genre in (one, two) and s.year >= year]
    if not 2 <= len(wanted) < len(person.library):
        return None
    title = f"{one} and {two} since {year}".capitalize()
    return Draft(
        f"Make a Spotify playlist titled '{title}' with all {one} and {two} songs of my Spotify "
        f"song library that were released in {year} or later. How long is it in seconds?",
        program(
            LIBRARY + "chosen = [\n"
            "    song\n"
            "    for song in songs\n"
            '    if song["genre"] in $genres and int(song["release_date"][:4]) >= $year\n'
            "]\n"
            "made = apis.spotify.create_playlist(title=$title, access_token=token)\n"
            "for song in chosen:\n"
            "    apis.spotify.add_song_to_playlist(\n"
            '        playlist_id=made["playlist_id"], song_id=song["song_id"], access_token=token\n'
            "    )\n"
            'apis.supervisor.complete_task(answer=sum(song["duration"] for song in chosen))\n',
            genres=(one, two),
            year=year,
            title=title,
        ),
        answer=sum(song.duration for song in wanted),
        changes=(
            Change("spotify.Playlist", "added", [{"title": title, "user.email": person.email}]),
            Change(
                "spotify.PlaylistSong",
                "added",
                [{"playlist.title": title, "song.title": song.title} for song in wanted],
            ),
        ),
    )


FAMILIES = (
    Family("superlative", 1, ("spotify",), superlative),
    Family("genre-note", 2, ("spotify", "simple_note"), genre_note),
    Family("like-artist", 2, ("spotify",), like_artist),
    Family("playlist", 3, ("spotify",), playlist),
)
