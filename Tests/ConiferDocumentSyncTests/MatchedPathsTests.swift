import ConiferDocument
import TestSupport
import Testing

@testable import ConiferDocumentSync

@Suite struct `The documents that match a target` {
  private typealias F = Fixtures

  @Test(arguments: Seeded.seeds(40))
  func `are those that came and did not leave, in whatever order`(seed: UInt64) {
    var random = Seeded(seed)
    var matched: MatchedPaths = []
    var model: Set<DocumentPath> = []
    func some() -> [DocumentPath] {
      let paths = (0..<random.below(12)).map { _ in F.path("c/d\(random.below(30))") }
      return random.chance(50) ? paths.sorted() : paths
    }
    for step in 0..<30 {
      if random.chance(15) { matched = MatchedPaths(model.sorted()) }
      if random.chance(15) { matched = MatchedPaths(model) }
      if random.chance(15) { matched.hash() }
      let (added, removed) = (some(), random.chance(50) ? some() : [])
      matched.change(adding: added, removing: removed)
      model.formUnion(added)
      model.subtract(removed)
      let place: Comment = "seed \(seed), step \(step)"
      #expect(matched.count == model.count && matched.isEmpty == model.isEmpty, place)
      #expect(matched.hashed == model && matched.sorted() == model.sorted(), place)
      #expect(matched == MatchedPaths(model) && MatchedPaths(model.sorted()) == matched, place)
      for n in 0..<31 {
        let path = F.path("c/d\(n)")
        #expect(matched.contains(path) == model.contains(path), place)
      }
      if random.chance(10) {
        matched.change(adding: [], removing: model.sorted())
        model = []
      }
    }
  }

  @Test func `are not hashed as long as they are what came in order`() {
    let paths = F.list("c/a", "c/b", "c/c")
    #expect(MatchedPaths(paths).inOrder == paths)
    #expect(MatchedPaths([paths[1], paths[0]]).inOrder == nil)
    #expect(MatchedPaths([paths[0], paths[0]]).inOrder == nil)
    var matched: MatchedPaths = []
    matched.change(adding: paths, removing: [])
    #expect(matched.inOrder == paths)
    matched.change(adding: [], removing: [paths[1]])
    #expect(matched.inOrder == nil && matched.sorted() == [paths[0], paths[2]])
  }

  /// A view begins with what is stored; then the server says that this was all.
  @Test(arguments: ["", "a", "b", "ab", "ac", "abc", "abcd", "bd"], [true, false])
  func `show which documents of a view the server is asked for`(
    matching: String, isInOrder: Bool
  ) throws {
    let paths = matching.map { F.path("c/\($0)") }
    var view = QueryView(
      try F.query(), matchedPaths: isInOrder ? MatchedPaths(paths) : MatchedPaths(Set(paths)))
    let documents = ["a", "b", "c"].map { F.document($0) }
    let first = view.apply(view.changes(documents), TargetChange(isCurrent: false))
    #expect(first.intoLimbo.isEmpty && first.snapshot?.documents.count == 3)
    let current = view.apply(view.changes([]), TargetChange(isCurrent: true))
    #expect(current.intoLimbo == Set(documents.map(\.path)).subtracting(paths))
  }
}
