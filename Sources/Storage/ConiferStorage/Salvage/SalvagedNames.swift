import ConiferKeyValue

/// The names of the trees of a damaged store, each once.
///
/// A page that was free may restore the entry of a tree that was wiped, so several trees may claim
/// one name.
struct SalvagedNames {
  /// The names that entries of names give trees, in their bytes' order.
  private var given: [TreeID: [String]] = [:]
  private(set) var names: [TreeID: String] = [:]
  private var taken: Set<Bytes> = []

  /// Gives each tree its name: one that its entry and the entry of the name agree on, otherwise one
  /// that only one of them states, otherwise a new one.
  ///
  /// - Parameters:
  ///   - entries: the trees, with the names in their own entries; nil when an entry is lost.
  ///   - pointers: the trees to which entries of names point.
  init(_ entries: [TreeID: String?], _ pointers: [Bytes: TreeID]) {
    for (name, tree) in pointers.sorted(by: { bytesPrecede($0.key, $1.key) }) {
      if let name = String(validating: name, as: UTF8.self) {
        given[tree, default: []].append(name)
      }
    }
    let trees = entries.keys.sorted()
    for tree in trees {
      let own = entries[tree] ?? nil
      let known = given[tree]?.first { own?.utf8.elementsEqual($0.utf8) ?? true }
      if let known { take(known, tree) }
    }
    for tree in trees where names[tree] == nil {
      let ending = "salvaged-\(tree.rawValue)"
      if let own = entries[tree] ?? nil {
        take(isFree(own) ? own : free(own, "-" + ending), tree)
      } else {
        take(free("", ending), tree)
      }
    }
  }

  /// Whether a name is a tree's.
  func isName(_ name: Bytes, of tree: TreeID) -> Bool {
    names[tree].map { $0.utf8.elementsEqual(name) } ?? false
  }

  private func isFree(_ name: String) -> Bool { !taken.contains(Bytes(name.utf8)) }

  private mutating func take(_ name: String, _ tree: TreeID) {
    names[tree] = name
    taken.insert(Bytes(name.utf8))
  }

  /// An unused name with a beginning, which may be cut, and an ending, which may be numbered.
  private func free(_ beginning: String, _ ending: String) -> String {
    var number = 1
    while true {
      let ending = number == 1 ? ending : "\(ending)-\(number)"
      var name = beginning
      while name.utf8.count + ending.utf8.count > Trees.longestName {
        name.unicodeScalars.removeLast()
      }
      name += ending
      if isFree(name) { return name }
      number += 1
    }
  }
}
