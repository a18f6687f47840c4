public import ConiferKeyValue
import ConiferLeafStore

extension PackedBackend: VerifyingBackend {
  /// Checks the store's own files, then every record and the references between records, on one
  /// snapshot. When the store might trap on the damage that was found, the records are not checked.
  ///
  /// - Throws: as the contract says.
  public func verify(
    _ progress: (VerificationProgress) -> Void
  ) throws(StoreError) -> VerificationReport {
    try requireOwnProcess()
    var report = VerificationReport()
    progress(VerificationProgress(phase: "files", bytes: 0, expected: 0))
    let isReadable = try store.verify { finding in
      let place = finding.bytes > 0 ? "\(finding.file) at byte \(finding.offset)" : finding.file
      report.add(
        VerificationReport.Finding(
          kind: .file, tree: nil, place: place, words: finding.words, bytes: finding.bytes))
    }
    guard isReadable else {
      report.isPartial = true
      return report
    }
    // The check has its own, empty cache, so that dictionaries are read from the store.
    let snapshot = try LeafStore(store, traits.compression).openSnapshot()
    defer { snapshot.close() }
    return try withoutActuallyEscaping(progress) { (progress) throws(StoreError) in
      let verifier = Verifier(snapshot, report: report, progress: progress)
      try verifier.run()
      return verifier.report
    }
  }
}
