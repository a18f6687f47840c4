import ConiferKeyValue
import ConiferStorage

extension StoreTable {
  /// The sizes of a tree's records, of the whole store's records, and of the files.
  static func bytes(
    of backend: any StorageBackend, _ space: String, now: Int64
  ) throws -> PageTable {
    let usages = try backend.read {
      (view) throws(StoreError) -> (own: StorageUsage, all: StorageUsage)? in
      let tree = try view.trees().first { $0.name.utf8.elementsEqual(space.utf8) }
      guard let tree else { return nil }
      return (try view.usage(tree.id), try view.usage(nil))
    }
    guard let usages else { throw PageRefusal(404, "There is no such tree in the store.") }
    var table = PageTable(
      now: now, columns: ["of", "this tree", "whole store"], empty: "Nothing is stored.")
    func add(_ name: String, _ part: (StorageUsage) -> Int) {
      table.rows.append([.text(name), .bytes(part(usages.own)), .bytes(part(usages.all))])
    }
    add("cached data") { $0.leafBytes }
    add("– before compression") { $0.rawLeafBytes }
    add("– packed runs") { $0.runs.stored }
    add("– small changes of them") { $0.deltas.stored }
    add("– large leaves") { $0.largeLeaves.stored }
    add("dictionaries") { $0.dictionaries }
    add("queue") { $0.queue }
    add("tracked queries") { $0.trackedQueries }
    add("pins") { $0.pins }
    add("indexes") { $0.indexes }
    add("other") { $0.other }
    add("all records") { $0.total }
    table.rows.append(
      [.text("leaves"), .number(usages.own.leaves), .number(usages.all.leaves)])
    let size = try backend.size()
    for (name, bytes) in [("files", size.file), ("– live", size.live), ("– free", size.free)] {
      table.rows.append([.text(name), .none, .bytes(bytes)])
    }
    if let space = try (backend as? any EvictingBackend)?.space() {
      for (name, bytes) in [
        ("cache on disk", space.cache), ("– pinned", space.pinned), ("queue on disk", space.queue),
      ] {
        table.rows.append([.text(name), .none, .bytes(bytes)])
      }
    }
    return table
  }
}
