internal import ConiferKeyValue
internal import ConiferStorage

extension ModelPair {
  /// Requires that `verify` finds nothing wrong, where the backend has it.
  func isSound() throws { try backend.requireSound() }
}

extension StorageBackend {
  /// Requires that `verify` finds nothing wrong, where the backend has it.
  func requireSound() throws {
    guard let verifying = self as? any VerifyingBackend else { return }
    let report = try verifying.verify()
    guard let first = report.findings.first else { return }
    let anomaly: Anomaly =
      switch first.kind {
      case .count: .usageDrift
      case .number: .reusedID
      default: .broken
      }
    throw ConformanceFailure(
      anomaly, "the store is not sound, \(report.found) findings; the first: \(first)")
  }
}
