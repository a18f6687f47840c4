#if os(Linux)
  import ConiferKeyValue
  import Testing

  @testable import StorageConformance

  @Suite("The points of power cuts do not depend on how many operations an engine makes")
  struct CutPointsTests {
    /// A record of commits, each of which is written in two halves and synced.
    ///
    /// - Parameters:
    ///   - zeros: writes of zeros to a file that is new, in front of every commit.
    ///   - notes: writes of a byte to another file there.
    private func record(
      _ commits: Int, zeros: Int = 0, notes: Int = 0
    ) -> (entries: [IOEntry], halves: [Int: Range<Int>], zeros: Set<Int>, notes: Set<Int>) {
      var entries: [IOEntry] = [
        .create(file: 0, path: "data"), .create(file: 1, path: "zeros"),
        .create(file: 2, path: "note"), .syncDirectory(""),
      ]
      var halves: [Int: Range<Int>] = [:]
      var (filled, noted) = (Set<Int>(), Set<Int>())
      for commit in 1...commits {
        for number in 0..<zeros {
          entries.append(
            .write(
              file: 1, offset: (commit * zeros + number) * 512, Bytes(repeating: 0, count: 512),
              isDurable: false))
          filled.insert(entries.count)
        }
        for number in 0..<notes {
          entries.append(
            .write(file: 2, offset: 0, [UInt8(number % 2 + 1)], isDurable: false))
          noted.insert(entries.count)
        }
        entries.append(.mark(CommitMark.issued(commit).number))
        let first = entries.count
        for half in 0..<2 {
          entries.append(
            .write(
              file: 0, offset: (2 * commit + half) * 100,
              Bytes(repeating: UInt8(commit % 250 + 1), count: 100), isDurable: false))
          entries.append(.sync(file: 0))
        }
        halves[commit] = first + 1..<first + 4
        entries.append(.mark(CommitMark.acknowledged(commit).number))
      }
      return (entries, halves, filled, noted)
    }

    private func some(
      _ count: Int, of entries: [IOEntry], seed: UInt64, _ kinds: [Int: Set<EditKind>] = [:]
    ) -> [Int] {
      var random = SeededRandom(seed: seed)
      return CutPoints(entries, on: SimulatedDisk(), kinds: kinds).some(count, &random)
    }

    @Test("Some commit with each kind of edit is cut between its halves", arguments: 0..<50)
    func kinds(seed: UInt64) {
      var kinds: [Int: Set<EditKind>] = [:]
      for commit in 1...40 { kinds[commit] = [.documents] }
      kinds[13] = [.documents, .pins]
      kinds[29] = [.documents, .indexes]
      let (entries, halves, _, _) = record(40, zeros: 30, notes: 5)
      let points = some(12, of: entries, seed: seed, kinds)
      #expect(points.count == 12)
      #expect(points == Set(points).sorted())
      for commit in [13, 29] {
        #expect(points.contains { halves[commit]?.contains($0) == true }, "\(commit): \(points)")
      }
    }

    @Test("Writes of zeros come last, and a file in which little changes comes seldom")
    func weights() {
      let (entries, _, zeros, notes) = record(40, zeros: 50, notes: 20)
      var (ofZeros, ofNotes, all) = (0, 0, 0)
      for seed in 0..<50 {
        let points = some(48, of: entries, seed: UInt64(seed))
        all += points.count
        ofZeros += points.count { zeros.contains($0) }
        ofNotes += points.count { notes.contains($0) }
      }
      #expect(all == 50 * 48)
      #expect(ofZeros == 0)
      // By number they would be nine of ten that follow writes.
      #expect(ofNotes > 0 && ofNotes < all / 10, "\(ofNotes) of \(all)")
    }

    @Test("Commits of which more writes were made than of others are cut within", arguments: 0..<20)
    func halves(seed: UInt64) {
      var entries: [IOEntry] = [.create(file: 0, path: "data"), .syncDirectory("")]
      var twice: [Range<Int>] = []
      for commit in 1...200 {
        entries.append(.mark(CommitMark.issued(commit).number))
        let isTwice = commit % 64 == 0
        for part in 0..<(isTwice ? 2 : 1) {
          entries.append(
            .write(
              file: 0, offset: 200 * commit + part, [UInt8(commit % 250 + 1)], isDurable: false))
          if isTwice, part == 0 { twice.append(entries.count..<entries.count + 1) }
        }
        entries.append(.mark(CommitMark.returned.number))
      }
      var random = SeededRandom(seed: seed)
      let points = CutPoints(entries, on: SimulatedDisk(), kinds: [:]).within(20, &random)
      #expect(points.count == 20)
      #expect(twice.count == 3)
      for place in twice { #expect(points.contains { place.contains($0) }, "\(points)") }
    }

    @Test("Points between commits are those of housekeeping", arguments: 0..<20)
    func housekeeping(seed: UInt64) {
      // What stands in front of the first commit is no housekeeping.
      let (entries, halves, _, notes) = record(20, notes: 2)
      let points = CutPoints(entries, on: SimulatedDisk(), kinds: [:])
      #expect(points.housekeeping == notes.filter { $0 > (halves[1]?.upperBound ?? 0) })
      var random = SeededRandom(seed: seed)
      let some = points.betweenCommits(9, &random)
      #expect(some.count == 9 && some.isSubset(of: points.housekeeping), "\(some)")
    }

    @Test("All points are taken when they are few")
    func few() {
      let (entries, _, _, _) = record(2, zeros: 1, notes: 1)
      let all = Set(entries.indices.map { $0 + 1 })
      let marks = Set(
        entries.indices.filter {
          if case .mark(let mark) = entries[$0], case .issued = CommitMark(mark) {
            true
          } else {
            false
          }
        }.map { $0 + 1 })
      #expect(Set(some(1000, of: entries, seed: 1)) == all.subtracting(marks))
    }
  }
#endif
