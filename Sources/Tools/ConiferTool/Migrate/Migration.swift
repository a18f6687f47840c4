import ConiferKeyValue
import ConiferStorage

/// Copies a store into one of another backend. It can be killed at any point and continued, and
/// leaves the source unchanged until the copy was compared with it.
struct Migration {
  /// The result of a migration.
  struct Outcome {
    let digest: String
    /// Whether an earlier run had done it all.
    let wasDone: Bool
    /// The source's new place, when it was set aside.
    var aside: String?
  }

  let source: StoreAddress
  let target: StoreAddress
  let console: Console

  /// Migrates, and sets the source aside if that is confirmed.
  func run(confirm: Bool) async throws -> Outcome {
    try source.mustBePresent()
    guard !Self.isWithin(source.absolute, target.absolute),
      !Self.isWithin(target.absolute, source.absolute)
    else {
      throw Failure.usage(
        "A store cannot be migrated into its own directory, nor into one around or within it: name "
          + "another one.")
    }
    // A source that is refused creates nothing at the target.
    if try MigrationMarker.read(target.directory)?.digest == nil { try checkSound() }
    try Platform.makeDirectories(target.directory)
    var marker = try await claim()
    var outcome: Outcome
    if let digest = marker.digest {
      outcome = Outcome(digest: digest, wasDone: true)
      try finish()
      try await checkTarget()
      if confirm { try await checkUnchanged(digest) }
    } else {
      outcome = Outcome(digest: try await copy(&marker), wasDone: false)
      try finish()
    }
    if confirm {
      outcome.aside = try Directory.moveToFreeName(
        source.absolute, like: source.absolute + ".migrated")
      MigrationMarker.remove(target.directory)
    }
    return outcome
  }

  /// Lets everybody open the new store.
  private func finish() throws {
    if try UnfinishedStore.lines(target.directory) != nil {
      try UnfinishedStore.finish(target.directory)
    }
  }

  /// The text of the mark of a store that this migration is filling.
  private var mark: String {
    "conifer migrate copies \(source.absolute) into it; run that again, it goes on where it was, or "
      + "remove the directory"
  }

  /// Whether a directory equals another one or is inside it.
  private static func isWithin(_ path: String, _ other: String) -> Bool {
    path == other || path.hasPrefix(other == "/" ? other : other + "/")
  }

  /// Refuses to take a migration for done whose new store cannot be opened, or lacks trees of the
  /// source; it may have been written to since.
  private func checkTarget() async throws {
    guard try target.isPresent() else {
      throw Failure.missing(
        "no-store",
        "There is no store in \(target.directory) any more: remove what is left of it to migrate anew. "
          + "The source is as it was.")
    }
    func names(_ store: StoreAddress) async throws -> Set<[UInt8]> {
      try await StoreOptions.opened(
        try store.configuration(role: .authority), telling: console
      ) { backend in
        Set(try backend.inspect { try $0.trees().map { Array($0.name.utf8) } })
      }
    }
    guard try await names(source).isSubset(of: try await names(target)) else {
      throw Failure(
        "changed", .foreign,
        "The store in \(target.directory) lacks trees that were migrated: nothing was set aside. Migrate "
          + "anew into another directory.")
    }
  }

  /// Makes the target ours: it bears our marker, or is nothing yet, and gets one.
  private func claim() async throws -> MigrationMarker {
    if let marker = try MigrationMarker.read(target.directory) {
      guard marker.source == source.absolute else {
        throw Failure(
          "foreign", .foreign,
          "\(target.directory) is being migrated to from \(marker.source): go on with that one, or "
            + "name another directory.")
      }
      return marker
    }
    if try target.isPresent() {
      // A run that was killed before it wrote its marker had marked the store already.
      let isOurs = try UnfinishedStore.lines(target.directory)?.first == mark
      let trees = try await StoreOptions.opened(
        try target.configuration(), isMaking: isOurs
      ) { backend in
        try backend.inspect { try $0.trees() }
      }
      guard trees.isEmpty else {
        throw Failure(
          "not-empty", .foreign,
          "\(target.directory) holds a store of its own: migrate into a new directory.")
      }
    }
    // Checked first, so that a store that is still being filled does not count as complete.
    try UnfinishedStore.mark(target.directory, [mark])
    let marker = MigrationMarker(source: source.absolute)
    try marker.write(target.directory)
    return marker
  }

  /// Refuses a damaged source: reading one may set records aside, and it must stay as it is.
  private func checkSound() throws {
    let verification = try StoreVerification.run(source, console)
    if let opening = verification.opening { console.note("conifer: damaged: \(opening)") }
    guard verification.isSound else {
      throw Failure(
        "damaged", .damaged,
        "The source is not sound: \(Self.sentence(verification.lines.suffix(2).first)) conifer verify "
          + "tells all, conifer salvage saves what can be read.")
    }
    if let locked = verification.locked.first {
      throw Failure(
        "wrong-key", .denied,
        "The source holds what the tool cannot read: \(Self.sentence(locked.member("text").text)) Purge "
          + "or wipe what was erased; a copy of a scope with a key of its own is the app's to make."
      )
    }
  }

  /// A text that ends with one full stop: of errors it has one, of findings none.
  private static func sentence(_ text: String?) -> String {
    let text = text ?? ""
    return text.hasSuffix(".") ? text : text + "."
  }

  private func copy(_ marker: inout MigrationMarker) async throws -> String {
    var current = marker
    let bars = Bars(console)
    defer { bars.finish() }
    let digest = try await StoreOptions.opened(
      try source.configuration(role: .authority), telling: console
    ) { source in
      try await StoreOptions.opened(try target.configuration(), isMaking: true) { target in
        let copy = FaithfulCopy(source: source, target: target) { place in
          current.place = place
          try current.write(self.target.directory)
        } advanced: {
          bars.advance($0, $1, $2)
        }
        do {
          return try await copy.run(from: current.place)
        } catch let difference as FaithfulCopy.Difference {
          throw Failure(
            "unfaithful", .internal,
            "The copy is not what the source is (\(difference.place)). The source is as it was; please "
              + "report this.")
        }
      }
    }
    marker = current
    marker.digest = digest.text
    marker.place.phase = .done
    try marker.write(target.directory)
    return digest.text
  }

  /// Refuses to set a source aside that was written to after it was copied.
  private func checkUnchanged(_ digest: String) async throws {
    let now = try await StoreOptions.opened(
      try source.configuration(role: .authority), telling: console
    ) { source in
      try await StoreDigest.of(source).text
    }
    guard now == digest else {
      throw Failure(
        "changed", .foreign,
        "The source was changed after it was migrated: migrate it anew into another directory, "
          + "nothing was set aside.")
    }
  }
}

/// A bar for each step of a copy, one after the other.
private final class Bars {
  private let console: Console
  private var current: (step: FaithfulCopy.Step, bar: Progress)?

  init(_ console: Console) { self.console = console }

  func advance(_ step: FaithfulCopy.Step, _ done: Int, _ total: Int) {
    if current?.step != step {
      finish()
      current = (
        step, Progress(step == .copying ? "copying  " : "comparing", total: total, console)
      )
    }
    current?.bar.advance(to: done)
  }

  func finish() {
    current?.bar.finish()
    current = nil
  }
}
