import ConiferDocument
import ConiferStorage

extension TargetRecord {
  /// Whether a record is to be stored in the place of another one: when its token is the first or is gone, when
  /// completeness changed, and when it is five minutes newer.
  func isDue(instead stored: TargetRecord) -> Bool {
    guard self != stored else { return false }
    if stored.token.isEmpty || token.isEmpty || isComplete != stored.isComplete { return true }
    return version.isWorthStoring(since: stored.version)
  }
}

extension ConiferDocument.Timestamp {
  /// Whether it is so much later than another time that what is known as of it is worth a commit of its own.
  func isWorthStoring(since other: ConiferDocument.Timestamp?) -> Bool {
    guard let other else { return true }
    return seconds - other.seconds >= 300
  }
}
