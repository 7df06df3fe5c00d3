import cliProgress from 'cli-progress'

/** What one stage of the pipeline has done of what it can do now. */
export interface StageProgress {
  readonly done: number
  readonly total: number
  /** Free text behind the bar: "lag 3", "130/s". */
  readonly note?: string
}

/** One line per stage on stderr: bars that are redrawn on a terminal, a line now and then elsewhere. */
export interface Progress extends Disposable {
  update(stage: string, progress: StageProgress): void
}

const REDRAW_MS = 500
/** Between two plain lines of one stage, where there is no terminal to redraw. */
const PLAIN_INTERVAL_MS = 5_000
/** The same for a stage that has nothing left to do: a sign of life. */
const PLAIN_IDLE_INTERVAL_MS = 60_000
const STAGE_CHARACTERS = 10
/** What a line holds beside the bar, so that the note is seen on a terminal of 80 columns; a bar is at least as short as this. */
const TEXT_CHARACTERS = 72
const BAR_CHARACTERS_MIN = 8
const BAR_CHARACTERS_MAX = 40

/** Bars on a terminal. What else is to be seen there is written above them. */
export interface Bars extends Progress {
  /** `write` writes whole lines. */
  writeAbove(write: () => void): void
}

const CLEAR_BELOW = '\x1b[J'
const WRAP_ON = '\x1b[?7h'
const WRAP_OFF = '\x1b[?7l'

/** Bars that are redrawn on a terminal, until disposed. */
export function openBars(stream: NodeJS.WriteStream): Bars {
  const room = (stream.columns || BAR_CHARACTERS_MAX + TEXT_CHARACTERS) - TEXT_CHARACTERS
  const bars = new cliProgress.MultiBar(
    {
      stream,
      format: '{stage} {bar} {value}/{total} {percentage}% {pace} {note}',
      clearOnComplete: false,
      hideCursor: true,
      fps: 1_000 / REDRAW_MS,
      stopOnComplete: false,
      emptyOnZero: true,
      barsize: Math.max(BAR_CHARACTERS_MIN, Math.min(BAR_CHARACTERS_MAX, room)),
      // They are cleared away whenever something is written above them.
      forceRedraw: true,
      // Would stop them at the first Ctrl-C, and draw them once more at the end.
      gracefulExit: false,
    },
    cliProgress.Presets.shades_grey,
  )
  const known = new Map<string, { readonly bar: cliProgress.SingleBar; readonly pace: Pace }>()
  let width = STAGE_CHARACTERS
  return {
    update(stage, { done, total, note = '' }) {
      let entry = known.get(stage)
      if (entry === undefined) {
        width = Math.max(width, stage.length)
        for (const [name, { bar }] of known) bar.update({ stage: name.padEnd(width) })
        const bar = bars.create(total, done, { stage: stage.padEnd(width), note, pace: '' })
        entry = { bar, pace: paceSince(done, Date.now) }
        known.set(stage, entry)
      }
      entry.bar.setTotal(Math.max(total, done))
      entry.bar.update(done, { note, pace: entry.pace(done, total) })
    },
    writeAbove(write) {
      if (!bars.isActive) return write()
      // Here the cursor is where the first bar begins. The library's own `log` would cut lines at the terminal's width.
      bars.once('redraw-pre', () => {
        stream.write(CLEAR_BELOW + WRAP_ON)
        write()
        stream.write(WRAP_OFF)
      })
      bars.update()
    },
    [Symbol.dispose]() {
      if (bars.isActive) bars.stop()
    },
  }
}

/** A line now and then, where there is no terminal to redraw. `now` is in milliseconds. */
export function openLines(stream: { write(text: string): unknown }, now: () => number): Progress {
  const known = new Map<string, { at: number; readonly pace: Pace }>()
  return {
    update(stage, { done, total, note = '' }) {
      const entry = known.get(stage)
      const pace = entry?.pace ?? paceSince(done, now)
      if (entry === undefined) known.set(stage, { at: now(), pace })
      else if (now() - entry.at < (done >= total ? PLAIN_IDLE_INTERVAL_MS : PLAIN_INTERVAL_MS)) return
      else entry.at = now()
      stream.write(`${stage.padEnd(STAGE_CHARACTERS)} ${done}/${total} ${pace(done, total)} ${note}\n`)
    },
    [Symbol.dispose]: () => {},
  }
}

/** "43/s, 6m10s left": the mean rate since the first call, with one decimal below 10, and what it means for the rest. */
type Pace = (done: number, total: number) => string

const MINUTE_SEC = 60
const HOUR_SEC = 3_600

function paceSince(first: number, now: () => number): Pace {
  const start = now()
  return (done, total) => {
    const perSecond = ((done - first) * 1_000) / Math.max(1, now() - start)
    const rate = `${perSecond.toFixed(perSecond < 10 ? 1 : 0)}/s`
    return done >= total || perSecond <= 0 ? rate : `${rate}, ${formatTime((total - done) / perSecond)} left`
  }
}

function formatTime(seconds: number): string {
  const whole = Math.ceil(seconds)
  if (whole < MINUTE_SEC) return `${whole}s`
  if (whole < HOUR_SEC) return `${Math.floor(whole / MINUTE_SEC)}m${whole % MINUTE_SEC}s`
  return `${Math.floor(whole / HOUR_SEC)}h${Math.floor((whole % HOUR_SEC) / MINUTE_SEC)}m`
}
