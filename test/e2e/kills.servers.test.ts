import { isLong } from '../long-form.ts'
import { ALL_DEATHS, killsSuite } from './kills.ts'
import { withServers } from './servers.ts'

// A lease of Kafka is another's some seconds after its holder was killed.
withServers((modeOf) =>
  killsSuite({
    mode: 'servers',
    modeOf,
    deaths: isLong
      ? ALL_DEATHS
      : [
          ['create-sealed', 'after'],
          ['broadcast-told', 'after'],
          ['exit-signed', 'after'],
        ],
    randomKills: isLong ? 200 : 1,
    pauseMsMax: 14_000,
  }),
)
