internal import ConiferTree

/// The result of one check of one backend: one line of the kit's machine-readable report.
public struct CheckResult: Sendable, Hashable {
  /// Whether a check passed, whole or in part, failed or was left out.
  public enum Outcome: String, Sendable {
    /// The promise holds.
    case passed
    /// The promise holds but for what the backend's author says that it cannot notice
    /// (`BackendFactory.overlooks`), which `reason` names.
    case partly = "kept in part"
    /// The promise is broken; `anomaly` and `reason` say how.
    case failed
    /// The promise does not apply to the backend; `reason` says why.
    case leftOut = "left out"
  }

  /// The version of the line's format; members are only ever added to it.
  public static let format = 1

  /// The factory's name, for example `LMDB with a small map`.
  public var factory: String
  /// 1 for checks of an ordered store, 2 for those of a backend.
  public var tier: Int
  /// What the check is about.
  public var group: String
  /// The promise.
  public var check: String
  /// How it ended.
  public var outcome: Outcome
  /// Which kind of promise broke, when it failed.
  public var anomaly: Anomaly?
  /// What broke and how to reproduce it, what is exempt, or why the check was left out.
  public var reason: String?
  /// The seed that reproduces a failure, where one was used.
  public var seed: UInt64?
  /// The check's counts: images, kills, faults.
  public var counts: [String: Int]
  /// How long it took; nil when it is not known.
  public var duration: Duration?

  /// A result.
  ///
  /// - Parameters:
  ///   - factory: the factory's name.
  ///   - tier: 1 for checks of an ordered store, 2 for those of a backend.
  ///   - group: what the check is about.
  ///   - check: the promise.
  ///   - outcome: how it ended.
  ///   - anomaly: which kind of promise broke.
  ///   - reason: what broke, what is exempt, or why it was left out.
  ///   - seed: the seed that reproduces a failure.
  ///   - counts: numbers by name.
  public init(
    factory: String, tier: Int, group: String, check: String, outcome: Outcome,
    anomaly: Anomaly? = nil, reason: String? = nil, seed: UInt64? = nil,
    counts: [String: Int] = [:]
  ) {
    self.factory = factory
    self.tier = tier
    self.group = group
    self.check = check
    self.outcome = outcome
    self.anomaly = anomaly
    self.reason = reason
    self.seed = seed
    self.counts = counts
  }

  /// The backend that the factory makes a variant of: its name's first word, in lower case.
  public var backend: String {
    let word = factory.utf8.prefix { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: ",") }
    return String(decoding: word, as: UTF8.self).lowercased()
  }

  /// The result as one line of JSON, without a line break; members always come in one order:
  /// `format`, `backend`, `factory`, `tier`, `group`, `check`, `outcome`, then, where there are any,
  /// `anomaly`, `seed` (text), `reason`, `counts` and `milliseconds`.
  public var json: String {
    var writer = JSONWriter()
    writer.beginObject()
    writer.key("format")
    writer.integer(Int64(Self.format))
    func member(_ name: String, _ text: String) {
      writer.key(name)
      writer.string(text)
    }
    member("backend", backend)
    member("factory", factory)
    writer.key("tier")
    writer.integer(Int64(tier))
    member("group", group)
    member("check", check)
    member("outcome", outcome.rawValue)
    if let anomaly { member("anomaly", anomaly.rawValue) }
    if let seed { member("seed", "\(seed)") }
    if let reason { member("reason", reason) }
    if !counts.isEmpty {
      writer.key("counts")
      writer.beginObject()
      for (name, count) in counts.sorted(by: {
        $0.key.utf8.lexicographicallyPrecedes($1.key.utf8)
      }) {
        writer.key(name)
        writer.integer(Int64(count))
      }
      writer.endObject()
    }
    if let duration {
      let (seconds, attoseconds) = duration.components
      writer.key("milliseconds")
      writer.integer(seconds * 1000 + attoseconds / 1_000_000_000_000_000)
    }
    writer.endObject()
    return String(decoding: writer.bytes, as: UTF8.self)
  }
}
