import { OperatorError } from '#core/platform/errors.ts'

/** Permanent failure of a review or an activation; a retry cannot help. `message` says what to do next. */
export class ReviewRefused extends OperatorError {
  override readonly name = 'ReviewRefused'
}
