import type { Notice } from '#core/db/staging/notices.ts'
import type { StagedPlace } from '#core/db/staging/staging.ts'
import { shownPlace } from './report.ts'
import type { RecordPlace } from './report.ts'

/** Returns the warning for a notice; the report names its two places beside it. */
export function noticeText(notice: Notice, placeOf: (place: StagedPlace) => RecordPlace): string {
  switch (notice.kind) {
    case 'several_sources': {
      const others = notice.others.map((place) => `, ${shownPlace(placeOf(place))}`).join('')
      return `the document of one day comes from ${notice.sources} sources: they must be parts of one text${others}`
    }
    case 'several_publications':
      return 'records of one document take effect on one day and have different days of publication'
    case 'repeated_provision':
      return 'a provision has two texts on one day: both are imported as distinct passages'
    case 'shorter_revision': {
      const { provisions, provisionsBefore } = notice
      return `a revision of ${provisions} provisions ends one of ${provisionsBefore}: correct its day, or add the rest`
    }
    default:
      return notice satisfies never
  }
}
