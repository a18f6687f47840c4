import ConiferKeyValue
import ConiferTree
import ConiferWire

extension Namespace {
  /// How many writes share a commit at most.
  private static let mostWrites = 256
  /// About how many bytes they have, unless one is larger.
  private static let mostBytes = 1 << 20

  /// Applies the stored writes that wait next, up to one that is refused or anything else, in one commit.
  ///
  /// - Returns: whether there was one.
  mutating func writeGroup(now: Int64) -> Bool {
    guard isStored else { return false }
    let before = root
    var (staged, bytes): ([StagedWrite], Int) = ([], 0)
    while staged.count < Self.mostWrites, bytes < Self.mostBytes, let next = waiting.first,
      let (write, request) = write(asked: next, now: now),
      // A refusal is answered when the writes before it are: it may be due to them.
      case .success(let new) = stage(write, now: now)
    {
      waiting.popFirst()
      traffic.count(request)
      staged.append(new)
      bytes += new.changes.reduce(0) { $0 + $1.node.estimatedSize }
      // Each write sees the earlier ones.
      root = new.root
    }
    root = before
    apply(staged, now: now)
    return !staged.isEmpty
  }

  /// Stores the onDisconnect requests that wait next in one commit, up to one that is refused, or anything else.
  ///
  /// - Returns: whether there was one.
  mutating func registerGroup(now: Int64) -> Bool {
    guard storesDisconnects else { return false }
    var group: [Registration] = []
    var growths: [SessionID: Int] = [:]
    while group.count < Self.mostWrites, growths.values.reduce(0, +) < Self.mostBytes,
      case .message(let id, .request(let number, let request))? = waiting.first,
      request.isOfDisconnect, let session = sessions[id], !session.isExpired(now),
      case .success((let change, let growth)?) = admit(request, of: id, with: growths[id], now: now)
    {
      waiting.popFirst()
      traffic.count(request)
      group.append(Registration(session: id, request: number, change: change))
      growths[id, default: 0] += growth
    }
    if !group.isEmpty { store(group) }
    return !group.isEmpty
  }

  /// Ends the sessions whose ends wait next, whose operations are stored in one commit.
  ///
  /// - Returns: whether there was one.
  mutating func endGroup(now: Int64) -> Bool {
    guard storesDisconnects else { return false }
    var (ids, bytes): ([SessionID], Int) = ([], 0)
    while ids.count < Self.mostWrites, bytes < Self.mostBytes, case .end(let id)? = waiting.first {
      let isAlone = endsAlone.contains(id)
      if isAlone, !ids.isEmpty { break }
      waiting.popFirst()
      ids.append(id)
      bytes += (sessions[id] ?? repeated[id])?.disconnect.bytes ?? 0
      if isAlone {
        endsAlone.remove(id)
        break
      }
    }
    if ids.isEmpty { return false }
    end(ids, now: now)
    outputs += ids.map { .ended($0) }
    return true
  }

  /// The write that an input asks for, and how it counts; nil when it asks for something else, or must first do
  /// something else.
  private func write(asked input: Input, now: Int64) -> (PendingWrite, Request)? {
    switch input {
    case .message(let id, .request(let number, let request)):
      guard let session = sessions[id], !session.isExpired(now) else { return nil }
      return PendingWrite(request, .request(id, number)).map { ($0, request) }
    case .call(let number, let changes):
      return (PendingWrite(changes, .call(number)), .merge(.root, changes))
    case .perform(let number, let request, let token, let limit):
      return PendingWrite(request, .caller(number, token), limit: limit).map { ($0, request) }
    default: return nil
    }
  }
}

extension Request {
  /// Whether it is for the end of its session.
  fileprivate var isOfDisconnect: Bool {
    switch self {
    case .onDisconnectPut, .onDisconnectMerge, .onDisconnectCancel: true
    default: false
    }
  }
}

extension Namespace.PendingWrite {
  /// The write of a request; nil when that is none.
  init?(_ request: Request, _ origin: Namespace.Origin, limit: Int? = nil) {
    switch request {
    case .put(let path, let node, let hash):
      self.init(
        base: path, changes: [NodeChange(path, node)], isMerge: false, hash: hash, origin: origin,
        limit: limit)
    case .merge(let path, let changes):
      self.init(
        base: path, changes: changes.map { NodeChange(path.appending($0.path), $0.node) },
        isMerge: true, hash: nil, origin: origin, limit: limit)
    default: return nil
    }
  }

  /// A write of the server itself.
  init(_ changes: [NodeChange], _ origin: Namespace.Origin) {
    self.init(
      base: changes.count == 1 ? changes[0].path : .root, changes: changes,
      isMerge: changes.count != 1, hash: nil, origin: origin)
  }
}

extension StoreError {
  /// Whether a commit that failed with it may be there when the store is opened again.
  var leavesDoubt: Bool { code == .io || code == .poisoned }

  /// Whether some of the writes of a commit may be taken alone, as one is at fault, or the disk has room for few.
  var mayConcernOne: Bool {
    code == .invalid || code == .tooLarge || code == .damaged || code == .full
  }
}
