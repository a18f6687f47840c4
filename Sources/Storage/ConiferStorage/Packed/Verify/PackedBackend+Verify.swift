public import ConiferKeyValue

extension PackedBackend {
  /// Checks the store's own files, then every record and what ties records together, on one view.
  ///
  /// A store that would trap on what it found damaged keeps the records from being checked.
  ///
  /// - Throws: as the contract says.
  public func verify(
    _ progress: (VerificationProgress) -> Void
  ) throws(StoreError) -> VerificationReport {
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
    let view = try store.view()
    defer { view.close() }
    return try withoutActuallyEscaping(progress) { (progress) throws(StoreError) in
      // A codec of its own: dictionaries are read from the store, not from memory.
      let verifier = Verifier(
        view, codec: Codec(traits.compression), longestKey: store.traits.longestKey,
        report: report, progress: progress)
      try verifier.run()
      return verifier.report
    }
  }
}
