internal import ConiferKeyValue
internal import ConiferStorage

/// The points between a record's operations at which a power cut has a new result, and a choice of
/// them.
///
/// An engine may make many operations that say little: it fills a new file with zeros, or notes who
/// its owner is. So a choice by the number of operations alone could miss any one commit.
struct CutPoints {
  /// A commit's kinds of edits, and the points while it was made.
  private struct Commit {
    let kinds: Set<EditKind>
    var points: [Int] = []
    /// Those of them that follow a write.
    var writes: [Int] = []
  }

  /// A write or a new length.
  private struct Write {
    let point: Int
    let file: Int
    /// How many bytes of the file are different from before.
    let changed: Int
  }

  private var commits: [Commit] = []
  private var acknowledgements: [Int] = []
  /// After a sync or a change of names.
  private var boundaries: [Int] = []
  private var writes: [Write] = []
  /// Behind a commit and before the next one: what evictions and tidying change.
  private(set) var housekeeping: Set<Int> = []

  /// How many points of one commit are tried for its kinds: with three, none is left out of which
  /// an engine makes two durable writes.
  private static let perCommit = 3

  /// The points of a record.
  ///
  /// - Parameter kinds: the kinds of edits of commits, by the numbers with which they were issued.
  init(_ entries: [IOEntry], on disk: SimulatedDisk, kinds: [Int: Set<EditKind>]) {
    var disk = disk
    var isCommitting = false
    for (index, entry) in entries.enumerated() {
      let point = index + 1
      let change = disk.change(by: entry)
      let isChanged = disk.play(entry)
      switch entry {
      case .mark(let number):
        isCommitting = false
        switch CommitMark(number) {
        case .issued(let commit):
          isCommitting = true
          commits.append(Commit(kinds: kinds[commit] ?? []))
        case .acknowledged: acknowledgements.append(point)
        case .returned, nil: break
        }
      case .write, .resize:
        guard isChanged, let change else { break }
        writes.append(Write(point: point, file: change.file, changed: change.bytes))
        if isCommitting { commits[commits.count - 1].writes.append(point) }
      default: if isChanged { boundaries.append(point) }
      }
      guard isChanged else { continue }
      if isCommitting {
        commits[commits.count - 1].points.append(point)
      } else if !commits.isEmpty {
        housekeeping.insert(point)
      }
    }
  }

  /// Up to a number of points: all of them when they are few. Otherwise half lie within commits that
  /// together have every kind of edit; of the others some follow an acknowledgement, some a sync or a
  /// change of names, and some a write.
  func some(_ count: Int, _ random: inout SeededRandom) -> [Int] {
    var points = Set(ofKinds(count / 2, &random))
    func add(_ more: [Int], _ share: Int) {
      let left = max(0, count - points.count)
      points.formUnion(
        more.filter { !points.contains($0) }.prefix((left + share - 1) / share))
    }
    add(acknowledgements.shuffled(using: &random), 3)
    add(boundaries.shuffled(using: &random), 2)
    add(weighed(count + points.count, &random), 1)
    add((acknowledgements + boundaries).sorted().shuffled(using: &random), 1)
    return points.sorted()
  }

  /// Up to a number of points between commits.
  func betweenCommits(_ count: Int, _ random: inout SeededRandom) -> Set<Int> {
    Set(housekeeping.sorted().shuffled(using: &random).prefix(count))
  }

  /// One point within each of up to a number of commits. Half of them lie in those for which the
  /// engine wrote most often, before the last write: a commit in two parts has more than others.
  func within(_ count: Int, _ random: inout SeededRandom) -> [Int] {
    let shuffled = commits.filter { !$0.points.isEmpty }.shuffled(using: &random)
    let most = shuffled.filter { $0.writes.count > 1 }.sorted { $0.writes.count > $1.writes.count }
    var points = Set(
      most.prefix(count / 2).compactMap { $0.writes.dropLast().randomElement(using: &random) })
    for commit in shuffled where points.count < count {
      if let point = commit.points.randomElement(using: &random) { points.insert(point) }
    }
    return points.sorted()
  }

  /// Points within commits of which each has kinds of edits that those before it have not.
  private func ofKinds(_ count: Int, _ random: inout SeededRandom) -> [Int] {
    let commits = commits.filter { !$0.points.isEmpty }.shuffled(using: &random)
    var points: [Int] = []
    var known: Set<EditKind> = []
    while points.count < count {
      let news = commits.map { $0.kinds.subtracting(known).count }
      guard let most = news.max(), most > 0, let first = news.firstIndex(of: most) else { break }
      known.formUnion(commits[first].kinds)
      points += commits[first].points.shuffled(using: &random).prefix(Self.perCommit)
    }
    return Array(points.prefix(count))
  }

  /// Points after writes, in random order. The bytes that a write changes are its weight, and the
  /// root of those of a file is the file's; writes that change none come last.
  private func weighed(_ count: Int, _ random: inout SeededRandom) -> [Int] {
    var totals: [Int: Int] = [:]
    for write in writes { totals[write.file, default: 0] += write.changed }
    var left = writes.map { write in
      let total = Double(totals[write.file] ?? 0)
      return (write.point, total > 0 ? Double(write.changed) / total.squareRoot() : 0)
    }
    var points: [Int] = []
    while points.count < count {
      let sum = left.reduce(0) { $0 + $1.1 }
      guard sum > 0 else { break }
      var rest = Double.random(in: 0..<sum, using: &random)
      let index =
        left.firstIndex { _, weight in
          rest -= weight
          return weight > 0 && rest < 0
        } ?? left.lastIndex { $0.1 > 0 }
      guard let index else { break }
      points.append(left.remove(at: index).0)
    }
    return points + left.map(\.0).shuffled(using: &random)
  }
}

/// What a record says of a commit between its file calls, as the number of a mark.
enum CommitMark {
  /// The backend is asked for it next.
  case issued(Int)
  /// It, and all before it, were acknowledged as durable.
  case acknowledged(Int)
  /// A commit returned that need not be durable.
  case returned

  init?(_ mark: Int) {
    switch mark % 3 {
    case 0: self = .issued(mark / 3)
    case 1: self = .acknowledged(mark / 3)
    case 2: self = .returned
    default: return nil
    }
  }

  var number: Int {
    switch self {
    case .issued(let commit): 3 * commit
    case .acknowledged(let commit): 3 * commit + 1
    case .returned: 2
    }
  }
}

/// A kind of edit: what its commit changes beside other things, so that half a commit would show.
enum EditKind: Hashable, Sendable {
  case nodes, documents, indexes, queries, pins, queue, answers, trees, metadata

  /// The kinds of a commit's edits.
  static func kinds(of edits: [StorageEdit]) -> Set<EditKind> {
    var kinds: Set<EditKind> = []
    for edit in edits {
      switch edit {
      case .overwrite, .merge, .prune: kinds.insert(.nodes)
      case .saveQuery, .removeQuery, .setTrackedKeys, .updateTrackedKeys, .restoreQuery,
        .reserveQueryIDs:
        kinds.insert(.queries)
      case .pin, .unpin: kinds.insert(.pins)
      case .documents(_, let edits):
        kinds.insert(.documents)
        for case .setIndexes in edits { kinds.insert(.indexes) }
      case .setIndexes: kinds.insert(.indexes)
      case .enqueue, .restore, .replace, .setState, .reserveWriteIDs, .raiseQueueFloor:
        kinds.insert(.queue)
      case .finish, .purge, .restoreFinished: kinds.insert(.answers)
      case .wipe: kinds.insert(.trees)
      case .report, .setMetadata: kinds.insert(.metadata)
      }
    }
    return kinds
  }
}
