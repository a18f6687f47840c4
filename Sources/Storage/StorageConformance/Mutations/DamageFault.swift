internal import ConiferKeyValue
internal import Synchronization

/// What a store does wrong with bytes that were changed in its files while it was closed.
enum DamageFault: Sendable {
  /// A damaged value is absent when its key is read.
  case readsAsAbsent
  /// A damaged value is read as it was before it was put last.
  case readsAsBefore
  /// A walk passes over a damaged row.
  case walksPassOver
  /// Verifying finds nothing, where nothing else tells.
  case verifiesNothing
  /// Verifying finds nothing of one space.
  case verifiesWithout(Space)

  /// Why it does not happen where its checks have seen none.
  static let reason = "its openings or its views tell of each change"
}

/// What was put into the stores of a mutation, so that they know a damaged row.
struct KnownRows: Sendable {
  struct Row: Sendable {
    var value: Bytes
    var before: Bytes?
  }

  private var rows: [String: [Place: Row]] = [:]

  /// A row of the store in a directory as it was put last.
  func row(_ directory: String, _ place: Place) -> Row? { rows[directory]?[place] }

  /// All rows of the store in a directory.
  func all(_ directory: String) -> [Place: Row] { rows[directory] ?? [:] }

  /// Notes what a batch does. Rows of a range that is cleared are known no more, and large ones never.
  mutating func note(_ batch: Batch, _ directory: String) {
    for edit in batch.edits {
      switch edit {
      case .put(let space, let key, let value):
        let place = Place(space: space.id, key: key)
        let known = rows[directory]?[place]?.value
        rows[directory, default: [:]][place] =
          value.count > 1 << 16 ? nil : Row(value: value, before: known)
      case .delete(let space, let key):
        rows[directory]?[Place(space: space.id, key: key)] = nil
      case .clear(let space, let from, let to):
        rows[directory] = rows[directory]?.filter { place, _ in
          place.space != space.id || bytesPrecede(place.key, from) || !bytesPrecede(place.key, to)
        }
      }
    }
  }
}

extension MutatedStore {
  /// Makes a commit, and remembers what it puts.
  func commit(
    _ batch: Batch, _ durability: Durability, _: DamageFault
  ) throws(StoreError) -> CommitID {
    let commit = try base.apply(batch, durability)
    site.known.withLock { $0.note(batch, directory) }
    return commit
  }

  /// A row as it was put last, in a store that was opened since and not changed.
  func known(_ space: Space, _ key: Bytes) -> KnownRows.Row? {
    guard state.withLock({ $0.commits }) == 0 else { return nil }
    return site.known.withLock { $0.row(directory, Place(space: space.id, key: key)) }
  }

  /// Verifies, and keeps what was found to itself where no view tells of it.
  func verify(
    _ found: (StoreFinding) -> Void, _ fault: DamageFault
  ) throws(StoreError) -> Bool {
    var findings: [StoreFinding] = []
    let mayBeRead = try base.verify { findings.append($0) }
    if !findings.isEmpty || !mayBeRead, try isBlind(fault) {
      site.happened()
      return true
    }
    findings.forEach(found)
    return mayBeRead
  }

  /// Whether a finding is one that the fault passes over.
  private func isBlind(_ fault: DamageFault) throws(StoreError) -> Bool {
    let only: Space?
    switch fault {
    case .verifiesNothing: only = nil
    case .verifiesWithout(let space): only = space
    default: return false
    }
    let rows = site.known.withLock { $0.all(directory) }
    let view = try base.view()
    defer { view.close() }
    var lacking: Set<UInt8> = []
    for (place, row) in rows {
      let space = Space(id: place.space, shape: .rows)
      do throws(StoreError) {
        if try view.value(space, place.key) != row.value { lacking.insert(place.space) }
      } catch {
        // The view tells.
        return false
      }
    }
    return only.map { lacking == [$0.id] } ?? !lacking.isEmpty
  }
}

extension MutatedView {
  /// Reads a row, and makes something else of a damaged one.
  func get<R>(
    _ view: any OrderedView, _ space: Space, _ key: Bytes, _ read: (RawSpan) -> R,
    _ fault: DamageFault
  ) throws(StoreError) -> R? {
    guard let known = store.known(space, key) else { return try view.get(space, key, read) }
    do throws(StoreError) {
      guard let found = try view.value(space, key) else { return nil }
      if found == known.value { return read(found.span.bytes) }
    } catch {
      guard error.code == .damaged else { throw error }
    }
    switch fault {
    case .readsAsAbsent:
      store.site.happened()
      return nil
    case .readsAsBefore:
      guard let before = known.before else { break }
      store.site.happened()
      return read(before.span.bytes)
    case .walksPassOver, .verifiesNothing, .verifiesWithout: break
    }
    return try view.get(space, key, read)
  }

  /// Walks up, past damaged rows.
  func walkPast(
    _ view: any OrderedView, _ space: Space, _ origin: Origin,
    _ visit: (_ key: RawSpan, _ value: RawSpan) -> Step
  ) throws(StoreError) {
    var next = origin
    while true {
      do throws(StoreError) {
        return try view.walk(space, next) { key, value in
          if let known = store.known(space, Bytes(key)), known.value != Bytes(value) {
            store.site.happened()
            return .next
          }
          return visit(key, value)
        }
      } catch {
        guard error.code == .damaged, let place = error.place, case .atOrAfter = origin else {
          throw error
        }
        store.site.happened()
        next = .atOrAfter(place.key + [0])
      }
    }
  }
}
