internal import Synchronization

/// The report of a run: `CONIFER_REPORT` names a directory, in which `<backend>.jsonl` gets a line
/// for each check that ends. Runs add to it, so begin with an empty one.
enum ReportFile {
  /// The factories whose inapplicable checks this process has reported.
  private static let reported = Mutex<Set<String>>([])

  private static var directory: String? {
    Variable.text("CONIFER_REPORT").flatMap { $0.isEmpty ? nil : $0 }
  }

  /// Prints what a check counted, and adds its line to the report if one was asked for.
  ///
  /// - Parameter file: the name of another file than that of the backend.
  static func append(_ result: CheckResult, to file: String? = nil) {
    if !result.counts.isEmpty {
      let counts = result.counts.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }
      print("\(result.factory), \(result.group): \(counts.joined(separator: ", "))")
    }
    guard let directory else { return }
    // Any backend name must become a valid file name.
    let name = (file ?? result.backend).utf8.map { byte in
      let isPlain = (0x61...0x7A).contains(byte) || (0x30...0x39).contains(byte)
      return isPlain ? byte : UInt8(ascii: "-")
    }
    // A failure to write the report says nothing about the backend, so it is ignored.
    try? System.append(
      result.json, to: "\(directory)/\(String(decoding: name, as: UTF8.self)).jsonl")
  }

  /// Reports the checks that do not apply to a factory, once in a process.
  static func reportLeftOut(
    _ factory: String, tier: Int, to file: String? = nil, _ leftOut: () -> [CheckResult]
  ) {
    guard directory != nil,
      reported.withLock({ $0.insert("\(tier) \(factory)").inserted })
    else { return }
    for result in leftOut() { append(result, to: file) }
  }
}
