internal import ConiferKeyValue

extension PowerLoss {
  /// The one power cut that `CONIFER_CRASH` names, as a failure printed it.
  struct Command: Sendable {
    let cut: Cut
    /// A cut during the recovery, and the kind of crash before that recovery.
    let recovery: (crash: Crash, cut: Cut)?

    /// The cut that the environment names, if any.
    ///
    /// - Throws: ``ConformanceFailure`` when its form is wrong.
    static var asked: Command? {
      get throws {
        guard let text = Variable.text("CONIFER_CRASH") else { return nil }
        guard let command = Command(text) else {
          throw Variable.refusal(
            "CONIFER_CRASH", text,
            "SEED:POINT:IMAGE, where IMAGE is all, durable or r and a number, and for a cut in a "
              + "recovery SEED:POINT:IMAGE+cut:SEED:POINT:IMAGE or …+kill:…")
        }
        return command
      }
    }

    /// The cut that a command names.
    init?(_ text: String) {
      let parts = text.split(separator: "+", maxSplits: 1, omittingEmptySubsequences: false)
      guard let first = parts.first.flatMap({ Cut($0) }) else { return nil }
      cut = first
      guard parts.count == 2 else {
        recovery = nil
        return
      }
      guard let colon = parts[1].firstIndex(of: ":"),
        let crash = Crash(rawValue: String(parts[1][..<colon])),
        let second = Cut(parts[1][colon...].dropFirst())
      else { return nil }
      recovery = (crash, second)
    }
  }

  /// Requires that this program has a cut at a point.
  func requirePoint(_ point: Int) throws {
    try require(
      (0...entries.count).contains(point),
      "There is no power cut after \(point) operations: the program of seed \(seed) made "
        + "\(entries.count).")
  }
}

extension PowerLoss.Cut {
  /// The cut that a text names: seed, point, image.
  init?(_ text: Substring) {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    guard parts.count == 3, let seed = UInt64(parts[0]), let point = Int(parts[1]), point >= 0,
      let image = DiskImage(parts[2])
    else { return nil }
    self.init(seed: seed, point: point, image: image)
  }
}
