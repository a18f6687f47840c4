import ConiferKeyValue
import ConiferLeafStore

/// What is lost with a damaged record.
enum DamageCost {
  /// Everything: the store cannot be used without its registry of trees.
  case store
  /// The leaves of a run: their range is dropped, and the queries over it are incomplete.
  case run
  /// The leaves of a run, but the record does not say of which one: the run is dropped when it is
  /// read.
  case partOfRun
  /// Every run that is packed with the dictionary.
  case runsOfDictionary
  /// A queued write, which is set aside with its bytes; the totals of a lane are counted anew.
  case write
  /// The write that the part belongs to.
  case partOfWrite
  /// What became of a write that is answered.
  case finishedWrite
  /// A tracked query. If the last number is lost too, numbers continue far above.
  case query
  /// What is known of a query's children: it is incomplete.
  case keysOfQuery
  /// Nothing: it is made anew from the queries.
  case queryIndex
  /// Nothing: the index is built anew, in slices.
  case index
  /// Nothing: what waiting writes do to documents is found anew from the queue.
  case overlays
  /// Nothing: the collections are listed anew from the documents, in slices.
  case collections
  /// The times as of which matches of queries were complete: these queries look at all documents until their matches
  /// are complete again.
  case changes
  /// Nothing: the tree is counted anew, in slices.
  case counts
  /// The record alone, which is set aside with its bytes.
  case record

  /// What a damaged record of a space costs; nil for a space that is not known.
  init?(_ space: UInt8) {
    switch Spaces.all.first(where: { $0.id == space }) {
    case nil: return nil
    case Spaces.system: self = .store
    case Spaces.runs: self = .run
    case Spaces.deltas, Spaces.chunks: self = .partOfRun
    case Spaces.dictionaries: self = .runsOfDictionary
    case Spaces.queue: self = .write
    case Spaces.queueParts: self = .partOfWrite
    case Spaces.finished: self = .finishedWrite
    case Spaces.queries: self = .query
    case Spaces.queryKeys: self = .keysOfQuery
    case Spaces.queryIndex: self = .queryIndex
    case Spaces.indexes: self = .index
    case Spaces.overlays, Spaces.earlierOverlays: self = .overlays
    case Spaces.collections: self = .collections
    case Spaces.changes: self = .changes
    case Spaces.usage: self = .counts
    default: self = .record
    }
  }
}

/// Decides whether a damaged record is repaired, and retries the operation that met it.
struct DamagePolicy: Sendable {
  let role: StoreRole
  /// What stays as it is, and is to be reported.
  let left = LeftDamage()

  init(role: StoreRole) { self.role = role }

  /// Whether a damaged record is repaired: an authority never drops its data.
  func repairs(_ place: StoreError.Place) -> Bool {
    switch DamageCost(place.space) {
    case nil, .store: false
    case .run, .partOfRun, .runsOfDictionary: role == .cache
    case .write, .partOfWrite, .finishedWrite, .query, .keysOfQuery, .queryIndex, .index,
      .overlays, .collections, .changes, .counts, .record:
      true
    }
  }

  /// Whether an error reports a damaged record that may be repaired and was not tried yet.
  func repairs(_ error: StoreError, _ tried: Set<StoreError.Place>) -> Bool {
    guard error.code == .damaged, let place = error.place else { return false }
    return repairs(place) && !tried.contains(place)
  }

  /// Whether an error reports a damaged record that must stay as it is.
  func leavesAsIs(_ error: StoreError) -> Bool {
    guard error.code == .damaged, let place = error.place else { return false }
    return !repairs(place)
  }

  /// Notes damage that stays as it is, for a report.
  func note(_ error: StoreError) {
    if leavesAsIs(error), let place = error.place { left.met(place) }
  }

  /// Runs a closure, and again after each repair of damage that it met.
  ///
  /// - Parameters:
  ///   - body: gets the damaged records whose repair was tried.
  ///   - repair: repairs a damaged record as far as possible; the body is run again in any case.
  ///   - recover: leaves out what the store itself has lost and cannot assign to a record; false
  ///     when it has found nothing to leave out.
  /// - Throws: the body's error, with a failed repair of its record as the cause; an error of a
  ///   repair that is not damage.
  func retrying<R>(
    _ body: (Set<StoreError.Place>) throws(StoreError) -> R,
    repair: (StoreError.Place) throws(StoreError) -> Void, recover: () throws(StoreError) -> Bool
  ) throws(StoreError) -> R {
    var tried: Set<StoreError.Place> = []
    var failedRepairs: [StoreError.Place: StoreError] = [:]
    var hasLookedAgain = false
    while true {
      let failure: StoreError
      do throws(StoreError) { return try body(tried) } catch { failure = error }
      if failure.code == .damaged, failure.place == nil, role == .cache {
        if try recover() { continue }
        // Another thread may have repaired it since the read began.
        guard !hasLookedAgain else { throw failure }
        hasLookedAgain = true
        continue
      }
      guard repairs(failure, tried), let place = failure.place else {
        note(failure)
        throw failure.place.flatMap { failedRepairs[$0] }.map(failure.unrepaired) ?? failure
      }
      tried.insert(place)
      do throws(StoreError) {
        try repair(place)
      } catch {
        guard error.code == .damaged else { throw error }
        // The body is run again in any case: if it needs the record, it fails with both errors.
        failedRepairs[place] = error
      }
    }
  }
}

extension StoreError {
  /// The error about a record whose repair failed, with that as its cause.
  fileprivate func unrepaired(_ repair: StoreError) -> StoreError {
    let why = "its repair failed: \(repair)"
    return StoreError(
      code, message, cause: cause.map { "\($0); \(why)" } ?? why, place: place, found: found)
  }
}
