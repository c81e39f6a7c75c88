"""The repository itself: git as a program that answers, its objects, trees and index; nothing of evalstore."""
