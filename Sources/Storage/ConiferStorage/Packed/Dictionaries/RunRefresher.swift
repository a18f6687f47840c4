import ConiferKeyValue
import ConiferLeafStore

/// Repacks runs that the tree's newest dictionary makes smaller; part of housekeeping.
struct RunRefresher {
  /// How many bytes of bodies are joined before they are split again.
  private static let stretch = 256 << 10

  private let editor: RunEditor
  private let packing: Packing

  init(_ editor: RunEditor, _ packing: Packing) {
    self.editor = editor
    self.packing = packing
  }

  /// Loads the runs that would become smaller, joined with their neighbours, so that `flush`
  /// repacks them: with a better ratio the leaves fit fewer runs.
  ///
  /// - Parameter named: gets the dictionaries that the other runs name.
  /// - Returns: the keys of the runs that are written anew.
  func refresh(
    _ keys: ArraySlice<Bytes>, _ named: inout NamedDictionaries
  ) throws(StoreError) -> Set<Bytes> {
    var done: Set<Bytes> = []
    var first: (key: Bytes, raw: Int)?
    for key in keys {
      guard let value = try editor.tx.value(Spaces.runs, key) else { continue }
      let head = try RunHead(storeKey: key, value: value)
      guard try wouldShrink(head) else {
        named.add(editor.tree, head.dictionary)
        first = nil
        continue
      }
      done.insert(key)
      if let into = first, into.raw + head.rawCount <= Self.stretch {
        try editor.join(key, into: into.key)
        first = (into.key, into.raw + head.rawCount)
      } else {
        try editor.fold(key)
        first = (key, head.rawCount)
      }
    }
    return done
  }

  private func wouldShrink(_ head: RunHead) throws(StoreError) -> Bool {
    guard let newest = packing.dictionary, head.dictionary != newest.number else { return false }
    let packed = packing.pack(try head.body(editor.reader.unpacking))
    return packed.dictionary == newest.number
      && packed.body.count < head.value.count - head.bodyStart
  }
}

/// The dictionaries that a pass of housekeeping found in use.
struct NamedDictionaries {
  private var numbers: [TreeID: Set<UInt32>] = [:]
  /// Whether all runs were looked at so far.
  var isWhole = true

  mutating func add(_ tree: TreeID, _ number: UInt32) {
    if number != 0 { numbers[tree, default: []].insert(number) }
  }

  /// Removes the dictionaries that no run or delta uses: older ones, and the newest one when it
  /// made no run smaller.
  func dropOthers(_ tx: LeafTransaction) throws(StoreError) {
    guard isWhole else { return }
    for key in try tx.keys(Spaces.dictionaries, prefix: []) {
      let (tree, number) = (StoreKey.tree(key), DictionaryRecord.number(key))
      guard numbers[tree]?.contains(number) != true, try !isNamedByDelta(tx, tree, number),
        let value = try readable(tx, key)
      else { continue }
      // A kind of a later version is kept.
      if let kind = DictionaryRecord.kind(key, value), kind != DictionaryRecord.bodies { continue }
      try tx.delete(Spaces.dictionaries, key)
      var row = try tx.usage(tree)
      row.dictionaries -= 1
      if row.newestDictionary == number {
        row.newestDictionary = 0
        row.recent = RecentRuns()
      }
      tx.setUsage(tree, row)
    }
  }

  /// A dictionary's record; nil when its tree's key was erased, since the record is removed with
  /// the tree.
  private func readable(_ tx: LeafTransaction, _ key: Bytes) throws(StoreError) -> Bytes? {
    do throws(StoreError) {
      return try tx.value(Spaces.dictionaries, key)
    } catch {
      guard error.code == .wrongKey else { throw error }
      return nil
    }
  }

  private func isNamedByDelta(
    _ tx: LeafTransaction, _ tree: TreeID, _ number: UInt32
  ) throws(StoreError) -> Bool {
    var scan = SpaceScan(Spaces.deltas, tree)
    while !scan.isDone {
      for (key, value) in try scan.records(tx) {
        // A delta that cannot be read may name any dictionary.
        guard let head = try? DeltaRecord.Head(key: key, value: value), head.dictionary != number
        else { return true }
      }
    }
    return scan.hasSkipped
  }
}
